// ContentDigest: the SHA-256 of a content that comes piece by piece.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include <openssl/evp.h>

namespace farport::router {

class ContentDigest {
 public:
  ContentDigest();

  void add(std::span<const std::byte> bytes);
  /// Of all that was added, in hexadecimal. Ends it.
  [[nodiscard]] std::string end();

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

}  // namespace farport::router
