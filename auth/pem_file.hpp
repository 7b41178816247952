// PEM files as they are read: their text, and what is in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "auth/openssl.hpp"
#include "base/error.hpp"

namespace farport::auth {

/// What a file held, wiped when it goes: it may have been a private key.
struct PemText {
  std::string text;

  PemText() = default;
  PemText(PemText&&) = default;
  PemText& operator=(PemText&&) = default;
  PemText(const PemText&) = delete;
  PemText& operator=(const PemText&) = delete;
  ~PemText() { OPENSSL_cleanse(text.data(), text.size()); }

  [[nodiscard]] bool has(std::string_view part) const { return text.find(part) != std::string::npos; }
  /// To read from; refers to the text.
  [[nodiscard]] BioPtr memory() const;
};

/// Reads a regular file of at most 1 MiB. `what` names the thing in messages: "private key".
[[nodiscard]] Result<PemText> read_pem(std::string_view what, const std::string& path);

/// All certificates in it, in order; possibly none. One that is damaged is an error.
[[nodiscard]] Result<std::vector<X509Ptr>> certificates_in(const PemText& pem, const std::string& path);

/// The first private key in it that is not encrypted; nothing asks for a passphrase.
[[nodiscard]] Result<EvpPkeyPtr> plain_key_in(const PemText& pem, const std::string& path);

/// What a file holds that does not hold `what` was looked for, and what to do about it.
[[nodiscard]] tl::unexpected<Error> holds_no(std::string_view what, const std::string& path,
                                             const PemText& pem);

/// A passphrase callback (pem_password_cb) that never asks anybody.
int no_passphrase(char* buffer, int size, int writing, void* user);

}  // namespace farport::auth
