#include "auth/credentials.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <span>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.hpp"

namespace farport::auth {
namespace {

/// More than one line; further content is ignored.
constexpr std::size_t kLargestPassphraseFile = 4 * kLongestPassphrase;

/// A buffer that is wiped when it is destroyed.
struct Buffer {
  std::array<char, kLargestPassphraseFile> bytes{};

  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { OPENSSL_cleanse(bytes.data(), bytes.size()); }
};

}  // namespace

Passphrase::~Passphrase() {
  OPENSSL_cleanse(text_.data(), text_.size());
}

Result<Passphrase> read_passphrase(const std::string& path) {
  Buffer buffer;
  ASSIGN_OR_RETURN(const auto size, read_regular_file("passphrase", path, std::span<char>(buffer.bytes)));
  std::string_view line(buffer.bytes.data(), size);
  line = line.substr(0, line.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) return fail("read passphrase", path, "its first line is empty", "write it there");
  if (line.size() > kLongestPassphrase) {
    return fail("read passphrase", path, "its first line is longer than 1024 bytes",
                "is this the right file?");
  }
  return Passphrase(line);
}

TlsFiles TlsFiles::of_bundle(const std::string& path) {
  TlsFiles files{path, path, path};
  files.bundled = true;
  return files;
}

std::vector<std::string> TlsFiles::paths() const {
  std::vector<std::string> all{cert};
  if (!bundled) all.insert(all.end(), {key, ca});
  for (const std::string& path : {crl, passphrase_file}) {
    if (!path.empty()) all.push_back(path);
  }
  return all;
}

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

/// Reads into a buffer of the full size, since growing it would leave copies behind.
Result<PemText> read_at_most(std::size_t room, std::string_view what, const std::string& path) {
  PemText pem;
  pem.text.resize(room);
  ASSIGN_OR_RETURN(const auto size, read_regular_file(what, path, std::span<char>(pem.text)));
  pem.text.resize(size);
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
  // Try a small buffer first: few files have the largest size.
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

namespace {

std::string mode_text(mode_t mode) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%04o", static_cast<unsigned int>(mode & 07777U));
  return text.data();
}

}  // namespace

Result<std::vector<X509Ptr>> load_certificates(const std::string& path) {
  ASSIGN_OR_RETURN(const auto pem, read_pem("certificate", path));
  auto certificates = certificates_in(pem, path);
  if (certificates && certificates->empty()) return holds_no("certificate", path, pem);
  return certificates;
}

Result<std::vector<X509CrlPtr>> load_crls(const std::string& path) {
  ASSIGN_OR_RETURN(const auto pem, read_pem("CRL", path));
  const BioPtr bio = pem.memory();
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
  if (lists.empty()) return holds_no("CRL", path, pem);
  return lists;
}

Result<EvpPkeyPtr> load_key(const std::string& path) {
  ASSIGN_OR_RETURN(const auto pem, read_pem("private key", path));
  auto key = plain_key_in(pem, path);
  if (key) return key;
  if (pem.has("ENCRYPTED")) {
    return fail(
        "use private key", path, "it is encrypted, and only a bundle's key may be",
        "decrypt it: openssl pkey -in " + path + " -out FILE; or make a bundle: farport certs bundle");
  }
  if (!pem.has("PRIVATE KEY-----")) return holds_no("private key", path, pem);
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
  ASSIGN_OR_RETURN(auto chain, load_certificates(cert));
  ASSIGN_OR_RETURN(auto private_key, load_key(key));
  if (X509_check_private_key(chain.front().get(), private_key.get()) != 1) {
    ERR_clear_error();
    return fail("use private key", key, "it is not the key of the certificate " + cert,
                "give the two files that were made together (a certificate comes first in its file)");
  }
  credentials.chain = std::move(chain);
  credentials.key = std::move(private_key);
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
                "check this host's clock");
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

namespace {

/// Takes about a second. OpenSSL writes 2048, farport 600,000.
constexpr std::uint64_t kMaxIterations = 2'000'000;
constexpr const char* kMakeOne = "farport certs bundle makes one";

using Pbe2Ptr = std::unique_ptr<PBE2PARAM, OpenSslFree<PBE2PARAM_free>>;
using PbkdfPtr = std::unique_ptr<PBKDF2PARAM, OpenSslFree<PBKDF2PARAM_free>>;

bool is_encrypted(const PemText& pem) {
  return pem.has("-----BEGIN ENCRYPTED PRIVATE KEY-----");
}

/// The number of private keys, of any kind.
std::size_t keys_in(const PemText& pem) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  constexpr std::string_view kEnd = "PRIVATE KEY-----";
  std::size_t count = 0;
  for (std::size_t at = pem.text.find(kBegin); at != std::string::npos; at = pem.text.find(kBegin, at + 1)) {
    const std::string_view line = std::string_view(pem.text).substr(at, pem.text.find('\n', at) - at);
    if (line.find(kEnd) != std::string_view::npos) ++count;
  }
  return count;
}

/// The parameters of an algorithm as the expected type; null if they have another type.
template <typename Owner, typename Item>
Owner parameters_of(const X509_ALGOR* algorithm, int wanted, const Item& item) {
  const ASN1_OBJECT* kind = nullptr;
  int type = V_ASN1_UNDEF;
  const void* value = nullptr;
  X509_ALGOR_get0(&kind, &type, &value, algorithm);
  if (OBJ_obj2nid(kind) != wanted || type != V_ASN1_SEQUENCE) return nullptr;
  return Owner(
      static_cast<typename Owner::pointer>(ASN1_item_unpack(static_cast<const ASN1_STRING*>(value), item())));
}

/// Whether decrypting the key takes bounded time and little memory, both of which the file determines.
bool is_bounded(const X509_SIG* encrypted) {
  const X509_ALGOR* algorithm = nullptr;
  X509_SIG_get0(encrypted, &algorithm, nullptr);
  const auto scheme = parameters_of<Pbe2Ptr>(algorithm, NID_pbes2, PBE2PARAM_it);
  if (!scheme) return false;
  const auto derivation = parameters_of<PbkdfPtr>(scheme->keyfunc, NID_id_pbkdf2, PBKDF2PARAM_it);
  std::uint64_t iterations = 0;
  return derivation && ASN1_INTEGER_get_uint64(&iterations, derivation->iter) == 1 &&
         iterations <= kMaxIterations;
}

Result<EvpPkeyPtr> encrypted_key_in(const PemText& pem, const std::string& path,
                                    const Passphrase* passphrase) {
  if (passphrase == nullptr) {
    return fail("use bundle", path, "its key is encrypted, and no passphrase is given",
                "name a file that has it with --tls-passphrase-file; on a terminal farport asks");
  }
  ERR_clear_error();
  const BioPtr bio = pem.memory();
  const EncryptedKeyPtr encrypted(PEM_read_bio_PKCS8(bio.get(), nullptr, no_passphrase, nullptr));
  if (!encrypted) return fail("use bundle", path, "its key is damaged (" + take_openssl_error() + ")");
  if (!is_bounded(encrypted.get())) {
    ERR_clear_error();
    return fail("use bundle", path,
                "its key is not encrypted by PBES2 and PBKDF2 with at most 2,000,000 iterations",
                "encrypt it anew: openssl pkcs8 -topk8");
  }
  const std::string_view text = passphrase->text();
  const KeyInfoPtr info(PKCS8_decrypt(encrypted.get(), text.data(), static_cast<int>(text.size())));
  EvpPkeyPtr key(info ? EVP_PKCS82PKEY(info.get()) : nullptr);
  ERR_clear_error();
  if (key) return key;
  return tl::unexpected(
      Error{"use bundle", path, "the passphrase is not that of its key", {}, Cause(EKEYREJECTED)});
}

/// Sorts certificates into our own, its chain and the anchors.
Result<Credentials> sorted(std::vector<X509Ptr> certificates, EvpPkeyPtr key, const std::string& path) {
  const auto own = std::find_if(certificates.begin(), certificates.end(), [&](const X509Ptr& certificate) {
    return X509_check_private_key(certificate.get(), key.get()) == 1;
  });
  ERR_clear_error();
  if (own == certificates.end()) {
    return fail("use bundle", path, "its key is that of none of its certificates", kMakeOne);
  }
  Credentials credentials;
  credentials.key = std::move(key);
  credentials.chain.push_back(std::move(*own));
  certificates.erase(own);
  for (X509Ptr& certificate : certificates) {
    const bool anchor = X509_self_signed(certificate.get(), 0) == 1;
    (anchor ? credentials.anchors : credentials.chain).push_back(std::move(certificate));
  }
  ERR_clear_error();
  if (credentials.anchors.empty()) {
    return fail("use bundle", path, "it holds no certificate of a CA, which would be self-signed", kMakeOne);
  }
  return credentials;
}

Result<Credentials> bundle_in(const PemText& pem, const std::string& path, const Passphrase* passphrase) {
  ASSIGN_OR_RETURN(auto certificates, certificates_in(pem, path));
  const std::size_t keys = keys_in(pem);
  if (certificates.empty() || keys == 0) return holds_no("bundle", path, pem);
  if (keys > 1) {
    return fail("use bundle", path, "it holds more than one private key",
                "keep only our certificate's key in it; a CA's key stays where certificates are issued");
  }
  ASSIGN_OR_RETURN(auto key,
                   is_encrypted(pem) ? encrypted_key_in(pem, path, passphrase) : plain_key_in(pem, path));
  return sorted(std::move(certificates), std::move(key), path);
}

}  // namespace

Result<Credentials> load_bundle(const TlsFiles& files) {
  ASSIGN_OR_RETURN(const auto pem, read_pem("bundle", files.cert));
  if (files.passphrase_file.empty()) return bundle_in(pem, files.cert, files.passphrase.get());
  ASSIGN_OR_RETURN(const auto passphrase, read_passphrase(files.passphrase_file));
  return bundle_in(pem, files.cert, &passphrase);
}

bool is_encrypted_bundle(const std::string& path) {
  const auto pem = read_pem("bundle", path);
  return pem && is_encrypted(*pem);
}

Result<Credentials> load_credentials(const TlsFiles& files) {
  if (files.bundled) return load_bundle(files);
  ASSIGN_OR_RETURN(auto credentials, load_pair(files.cert, files.key));
  ASSIGN_OR_RETURN(auto anchors, load_certificates(files.ca));
  credentials.anchors = std::move(anchors);
  return credentials;
}

}  // namespace farport::auth
