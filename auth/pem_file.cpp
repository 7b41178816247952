#include "auth/pem_file.hpp"

#include <cerrno>
#include <span>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <unistd.h>

#include "base/regular_file.hpp"

namespace farport::auth {
namespace {

constexpr std::size_t kUsualFile = std::size_t{32} * 1024;
constexpr std::size_t kLargestFile = std::size_t{1024} * 1024;

tl::unexpected<Error> with_hint(Error error) {
  if (error.cause == ENOENT) error.hint = "is the path right? farport certs makes certificates";
  if (error.cause == EACCES) {
    error.hint = "make it readable for the user that farport runs as (uid " + std::to_string(geteuid()) + ")";
  }
  return tl::unexpected(std::move(error));
}

/// Into room that is there before: growing would leave copies behind.
Result<PemText> read_at_most(std::size_t room, std::string_view what, const std::string& path) {
  PemText pem;
  pem.text.resize(room);
  const auto size = read_regular_file(what, path, std::span<char>(pem.text));
  if (!size) return tl::unexpected(size.error());
  pem.text.resize(*size);
  return pem;
}

std::string der_hint(std::string_view what, const std::string& path) {
  if (what == "bundle") return "if it is PKCS#12: openssl pkcs12 -in " + path + " -out FILE";
  if (what == "CRL") return "convert it: openssl crl -inform der -in " + path + " -out FILE";
  return "convert it: openssl x509 -inform der (or openssl pkey)";
}

}  // namespace

BioPtr PemText::memory() const {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Result<PemText> read_pem(std::string_view what, const std::string& path) {
  // Few files take the most there may be.
  auto pem = read_at_most(kUsualFile, what, path);
  if (!pem && pem.error().cause == EFBIG) pem = read_at_most(kLargestFile, what, path);
  if (!pem) return with_hint(pem.error());
  return pem;
}

Result<std::vector<X509Ptr>> certificates_in(const PemText& pem, const std::string& path) {
  const BioPtr bio = pem.memory();
  std::vector<X509Ptr> certificates;
  ERR_clear_error();
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr)) {
    certificates.emplace_back(certificate);
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string why = take_openssl_error();
  if (at_end) return certificates;
  return fail("use certificate", path,
              "certificate " + std::to_string(certificates.size() + 1) + " in it is damaged (" + why + ")",
              "copy it again from where it was issued");
}

Result<EvpPkeyPtr> plain_key_in(const PemText& pem, const std::string& path) {
  const BioPtr bio = pem.memory();
  ERR_clear_error();
  EvpPkeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  const std::string why = take_openssl_error();
  if (key) return key;
  return fail("use private key", path, "it is damaged (" + why + ")", "copy it again from where it was made");
}

tl::unexpected<Error> holds_no(std::string_view what, const std::string& path, const PemText& pem) {
  const std::string tried = "use " + std::string(what);
  if (pem.text.empty()) return fail(tried, path, "the file is empty", "was it written to the end?");
  if (pem.text.front() == '\x30') return fail(tried, path, "it is in DER form", der_hint(what, path));
  if (!pem.has("-----BEGIN "))
    return fail(tried, path, "it is not a PEM file", "it should begin with -----BEGIN");
  if (pem.has("CERTIFICATE REQUEST")) {
    return fail(tried, path, "it holds a certificate request", "have it signed by the CA first");
  }
  if (what == "bundle") {
    return fail(tried, path,
                pem.has("BEGIN CERTIFICATE") ? "it holds no private key" : "it holds no certificate",
                "a bundle has our certificate, its key and the CA: farport certs bundle makes one");
  }
  if (what == "CRL") {
    return fail(tried, path, pem.has("BEGIN CERTIFICATE") ? "it holds a certificate" : "it holds no CRL",
                "a CRL begins with -----BEGIN X509 CRL-----");
  }
  if (pem.has("PRIVATE KEY"))
    return fail(tried, path, "it holds a private key", "are certificate and key swapped?");
  if (pem.has("BEGIN CERTIFICATE"))
    return fail(tried, path, "it holds a certificate", "are certificate and key swapped?");
  if (pem.has("BEGIN X509 CRL")) return fail(tried, path, "it holds a CRL", "are CA and CRL swapped?");
  return fail(tried, path, "it holds neither certificate nor key", "is this the right file?");
}

int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*user*/) {
  return -1;
}

}  // namespace farport::auth
