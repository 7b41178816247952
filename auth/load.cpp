#include "auth/load.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <span>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/regular_file.hpp"

namespace farport::auth {
namespace {

constexpr std::size_t kLargestFile = std::size_t{1024} * 1024;

/// What a file held, wiped when it goes: it may have been a private key.
struct Content {
  std::string text;

  Content() = default;
  Content(Content&&) = default;
  Content& operator=(Content&&) = default;
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  ~Content() { OPENSSL_cleanse(text.data(), text.size()); }
};

tl::unexpected<Error> with_hint(Error error) {
  if (error.cause == ENOENT) error.hint = "is the path right? farport certs makes certificates";
  if (error.cause == EACCES) {
    error.hint = "make it readable for the user that farport runs as (uid " + std::to_string(geteuid()) + ")";
  }
  return tl::unexpected(std::move(error));
}

Result<Content> read_file(std::string_view what, const std::string& path) {
  Content content;
  content.text.resize(kLargestFile);  // At once: growing would leave copies behind.
  const auto size = read_regular_file(what, path, std::span<char>(content.text));
  if (!size) return with_hint(size.error());
  content.text.resize(*size);
  return content;
}

BioPtr memory_of(const Content& content) {
  return BioPtr(BIO_new_mem_buf(content.text.data(), static_cast<int>(content.text.size())));
}

/// What a file holds that does not hold what was looked for, and what to do about it.
tl::unexpected<Error> holds_no(std::string_view what, const std::string& path, const Content& content) {
  const std::string tried = "use " + std::string(what);
  const std::string& text = content.text;
  const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
  if (text.empty()) return fail(tried, path, "the file is empty", "was it written to the end?");
  const bool list = what == "CRL";
  if (text.front() == '\x30') {
    return fail(tried, path, "it is in DER form",
                list ? "convert it: openssl crl -inform der -in " + path + " -out FILE"
                     : "convert it: openssl x509 -inform der (or openssl pkey)");
  }
  if (!has("-----BEGIN "))
    return fail(tried, path, "it is not a PEM file", "it should begin with -----BEGIN");
  if (has("CERTIFICATE REQUEST")) {
    return fail(tried, path, "it holds a certificate request", "have it signed by the CA first");
  }
  if (list) {
    return fail(tried, path, has("BEGIN CERTIFICATE") ? "it holds a certificate" : "it holds no CRL",
                "a CRL begins with -----BEGIN X509 CRL-----");
  }
  if (has("PRIVATE KEY"))
    return fail(tried, path, "it holds a private key", "are certificate and key swapped?");
  if (has("BEGIN CERTIFICATE"))
    return fail(tried, path, "it holds a certificate", "are certificate and key swapped?");
  if (has("BEGIN X509 CRL")) return fail(tried, path, "it holds a CRL", "are CA and CRL swapped?");
  return fail(tried, path, "it holds neither certificate nor key", "is this the right file?");
}

/// Never asks anybody: a passphrase is not ours to have.
int no_passphrase(char*, int, int, void*) {
  return -1;
}

std::string mode_text(mode_t mode) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%04o", static_cast<unsigned int>(mode & 07777U));
  return text.data();
}

}  // namespace

Result<std::vector<X509Ptr>> load_certificates(const std::string& path) {
  auto content = read_file("certificate", path);
  if (!content) return tl::unexpected(content.error());
  const BioPtr bio = memory_of(*content);
  std::vector<X509Ptr> certificates;
  ERR_clear_error();
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr)) {
    certificates.emplace_back(certificate);
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string why = take_openssl_error();
  if (!at_end) {
    return fail("use certificate", path,
                "certificate " + std::to_string(certificates.size() + 1) + " in it is damaged (" + why + ")",
                "copy it again from where it was issued");
  }
  if (certificates.empty()) return holds_no("certificate", path, *content);
  return certificates;
}

Result<std::vector<X509CrlPtr>> load_crls(const std::string& path) {
  auto content = read_file("CRL", path);
  if (!content) return tl::unexpected(content.error());
  const BioPtr bio = memory_of(*content);
  std::vector<X509CrlPtr> lists;
  ERR_clear_error();
  while (X509_CRL* list = PEM_read_bio_X509_CRL(bio.get(), nullptr, no_passphrase, nullptr)) {
    lists.emplace_back(list);
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string why = take_openssl_error();
  if (!at_end) {
    return fail("use CRL", path,
                "CRL " + std::to_string(lists.size() + 1) + " in it is damaged (" + why + ")",
                "fetch it again from the CA");
  }
  if (lists.empty()) return holds_no("CRL", path, *content);
  return lists;
}

Result<EvpPkeyPtr> load_key(const std::string& path) {
  auto content = read_file("private key", path);
  if (!content) return tl::unexpected(content.error());
  const BioPtr bio = memory_of(*content);
  ERR_clear_error();
  EvpPkeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  const std::string why = take_openssl_error();
  if (key) return key;
  if (content->text.find("ENCRYPTED") != std::string::npos) {
    return fail("use private key", path, "it is encrypted, and farport asks for no passphrase",
                "decrypt it: openssl pkey -in " + path + " -out FILE");
  }
  if (content->text.find("PRIVATE KEY-----") == std::string::npos)
    return holds_no("private key", path, *content);
  return fail("use private key", path, "it is damaged (" + why + ")", "copy it again from where it was made");
}

std::string key_permission_warning(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const std::string mode = " (mode " + mode_text(status.st_mode) + ")";
  if ((status.st_mode & S_IROTH) != 0) return "it is readable by everybody" + mode;
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "it is writable by others than its owner" + mode;
  return {};
}

Result<Credentials> load_credentials(const std::string& cert, const std::string& key) {
  Credentials credentials;
  auto chain = load_certificates(cert);
  if (!chain) return tl::unexpected(chain.error());
  auto private_key = load_key(key);
  if (!private_key) return tl::unexpected(private_key.error());
  if (X509_check_private_key(chain->front().get(), private_key->get()) != 1) {
    ERR_clear_error();
    return fail("use private key", key, "it is not the key of the certificate " + cert,
                "give the two files that were made together (a certificate comes first in its file)");
  }
  credentials.chain = std::move(*chain);
  credentials.key = std::move(*private_key);
  return credentials;
}

Result<void> check_usable(X509* certificate, Side side, const std::string& path) {
  const std::string again = "issue a new one, with farport certs or where this one came from";
  const ASN1_TIME* from = X509_get0_notBefore(certificate);
  const ASN1_TIME* until = X509_get0_notAfter(certificate);
  if (X509_cmp_current_time(until) < 0) {
    return fail("use certificate", path, "it expired on " + time_text(until), again);
  }
  if (X509_cmp_current_time(from) > 0) {
    return fail("use certificate", path, "it is valid only from " + time_text(from),
                "is the clock of this host right?");
  }
  const bool server = side == Side::server;
  if (X509_check_purpose(certificate, server ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT, 0) != 1) {
    return fail("use certificate", path,
                server ? "it is not for servers (extended key usage serverAuth is missing)"
                       : "it is not for clients (extended key usage clientAuth is missing)",
                server ? "issue one with: farport certs server" : "issue one with: farport certs client");
  }
  return {};
}

}  // namespace farport::auth
