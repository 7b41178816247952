#include "auth/load.hpp"

#include <array>
#include <cstdio>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include "auth/pem_file.hpp"

namespace farport::auth {
namespace {

std::string mode_text(mode_t mode) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%04o", static_cast<unsigned int>(mode & 07777U));
  return text.data();
}

}  // namespace

Result<std::vector<X509Ptr>> load_certificates(const std::string& path) {
  const auto pem = read_pem("certificate", path);
  if (!pem) return tl::unexpected(pem.error());
  auto certificates = certificates_in(*pem, path);
  if (certificates && certificates->empty()) return holds_no("certificate", path, *pem);
  return certificates;
}

Result<std::vector<X509CrlPtr>> load_crls(const std::string& path) {
  const auto pem = read_pem("CRL", path);
  if (!pem) return tl::unexpected(pem.error());
  const BioPtr bio = pem->memory();
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
  if (lists.empty()) return holds_no("CRL", path, *pem);
  return lists;
}

Result<EvpPkeyPtr> load_key(const std::string& path) {
  const auto pem = read_pem("private key", path);
  if (!pem) return tl::unexpected(pem.error());
  auto key = plain_key_in(*pem, path);
  if (key) return key;
  if (pem->has("ENCRYPTED")) {
    return fail(
        "use private key", path, "it is encrypted, and only a bundle's key may be",
        "decrypt it: openssl pkey -in " + path + " -out FILE; or make a bundle: farport certs bundle");
  }
  if (!pem->has("PRIVATE KEY-----")) return holds_no("private key", path, *pem);
  return key;
}

std::string permission_warning(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const std::string mode = " (mode " + mode_text(status.st_mode) + ")";
  if ((status.st_mode & S_IROTH) != 0) return "it is readable by everybody" + mode;
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "it is writable by others than its owner" + mode;
  return {};
}

Result<Credentials> load_pair(const std::string& cert, const std::string& key) {
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
