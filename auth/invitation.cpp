#include "auth/invitation.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include <openssl/err.h>
#include <openssl/pkcs12.h>

#include "auth/issue.hpp"

namespace farport::auth {
namespace {

constexpr std::string_view kKind = "farport1";
constexpr const char* kRead = "read the invitation";

/// A base64 filter over a BIO, which it does not own.
class Base64 {
 public:
  explicit Base64(BIO* over) : coder_(BIO_new(BIO_f_base64())) {
    BIO_set_flags(coder_.get(), BIO_FLAGS_BASE64_NO_NL);
    BIO_push(coder_.get(), over);
  }
  Base64(const Base64&) = delete;
  Base64& operator=(const Base64&) = delete;
  ~Base64() { BIO_pop(coder_.get()); }

  [[nodiscard]] BIO* get() const { return coder_.get(); }

 private:
  BioPtr coder_;
};

bool begin_part(BIO* to) {
  return BIO_puts(to, ",") == 1;
}

bool put_certificate(BIO* to, const X509Ptr& certificate) {
  if (!begin_part(to)) return false;
  const Base64 coder(to);
  return i2d_X509_bio(coder.get(), certificate.get()) == 1 && BIO_flush(coder.get()) == 1;
}

bool put_key(BIO* to, const EvpPkeyPtr& key) {
  if (!begin_part(to)) return false;
  const KeyInfoPtr info(EVP_PKEY2PKCS8(key.get()));
  const Base64 coder(to);
  return info && i2d_PKCS8_PRIV_KEY_INFO_bio(coder.get(), info.get()) == 1 && BIO_flush(coder.get()) == 1;
}

/// A BIO that reads one part in place.
BioPtr part_of(std::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

X509Ptr take_certificate(std::string_view text) {
  const BioPtr part = part_of(text);
  const Base64 coder(part.get());
  return X509Ptr(d2i_X509_bio(coder.get(), nullptr));
}

EvpPkeyPtr take_key(std::string_view text) {
  const BioPtr part = part_of(text);
  const Base64 coder(part.get());
  const KeyInfoPtr info(d2i_PKCS8_PRIV_KEY_INFO_bio(coder.get(), nullptr));
  return EvpPkeyPtr(info ? EVP_PKCS82PKEY(info.get()) : nullptr);
}

/// The parts between commas; further ones are only counted.
using Parts = std::array<std::string_view, 5>;

Result<Parts> parts_in(std::string_view text) {
  Parts parts;
  std::size_t count = 0;
  for (std::size_t at = 0; at <= text.size(); ++count) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (count < parts.size()) parts[count] = text.substr(at, end - at);
    at = end + 1;
  }
  if (parts[0] != kKind) {
    return fail(kRead, {}, "it is not an invitation",
                "paste the line that farport quickstart has printed beside the application");
  }
  if (count == parts.size()) return parts;
  return fail(kRead, {}, "it is incomplete", "copy all of the line");
}

}  // namespace

Result<BioPtr> write_invitation(const std::string& address, const Credentials& credentials) {
  if (address.find(',') != std::string::npos)
    return fail("write an invitation to", address, "an address has no comma");
  BioPtr text = secret_memory();
  const bool whole = BIO_puts(text.get(), (std::string(kKind) + "," + address).c_str()) > 0 &&
                     put_certificate(text.get(), credentials.chain.front()) &&
                     put_key(text.get(), credentials.key) &&
                     put_certificate(text.get(), credentials.anchors.front());
  if (!whole) return fail("write an invitation to", address, take_openssl_error());
  return text;
}

Result<Invitation> read_invitation(std::string_view text) {
  if (text.size() > kLongestInvitation) return fail(kRead, {}, "it is too long");
  ASSIGN_OR_RETURN(const auto parts, parts_in(text));
  const auto& [kind, address, certificate, key, anchor] = parts;
  Invitation read{std::string(address), {}};
  read.credentials.chain.push_back(take_certificate(certificate));
  read.credentials.key = take_key(key);
  read.credentials.anchors.push_back(take_certificate(anchor));
  const Credentials& given = read.credentials;
  const bool whole = given.chain.front() && given.key && given.anchors.front() &&
                     X509_check_private_key(given.chain.front().get(), given.key.get()) == 1;
  ERR_clear_error();
  if (whole) return read;
  return fail(kRead, {}, "it is incomplete, or was changed", "copy all of the line");
}

}  // namespace farport::auth
