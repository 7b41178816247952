#include "router/wire/content_digest.hpp"

#include <array>
#include <new>

#include <fmt/format.h>

namespace farport::router {

ContentDigest::ContentDigest() : context_(EVP_MD_CTX_new()) {
  // SHA-256 is in every build of the library, so that only memory can be missing.
  if (context_ == nullptr || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
    throw std::bad_alloc();
}

void ContentDigest::add(std::span<const std::byte> bytes) {
  if (EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) != 1) throw std::bad_alloc();
}

std::string ContentDigest::end() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_DigestFinal_ex(context_.get(), digest.data(), &size) != 1) throw std::bad_alloc();
  std::string text;
  for (unsigned int at = 0; at < size; ++at) text += fmt::format("{:02x}", digest.at(at));
  return text;
}

}  // namespace farport::router
