#include "auth/bundle.hpp"

#include <algorithm>
#include <cerrno>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>

#include "auth/pem_file.hpp"

namespace farport::auth {
namespace {

/// About a second. OpenSSL writes 2048, farport 600,000.
constexpr std::uint64_t kMostIterations = 2'000'000;
constexpr const char* kMakeOne = "farport certs bundle makes one";

using Pbe2Ptr = std::unique_ptr<PBE2PARAM, OpenSslFree<PBE2PARAM_free>>;
using PbkdfPtr = std::unique_ptr<PBKDF2PARAM, OpenSslFree<PBKDF2PARAM_free>>;
using EncryptedKeyPtr = std::unique_ptr<X509_SIG, OpenSslFree<X509_SIG_free>>;

bool is_encrypted(const PemText& pem) {
  return pem.has("-----BEGIN ENCRYPTED PRIVATE KEY-----");
}

/// How many private keys there are, of any kind.
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

/// The parameters of an algorithm as the type that they should have; null where they haven't.
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

/// Whether opening the key takes a bounded time and little memory: the file says how much of both.
bool is_bounded(const X509_SIG* encrypted) {
  const X509_ALGOR* algorithm = nullptr;
  X509_SIG_get0(encrypted, &algorithm, nullptr);
  const auto scheme = parameters_of<Pbe2Ptr>(algorithm, NID_pbes2, PBE2PARAM_it);
  if (!scheme) return false;
  const auto derivation = parameters_of<PbkdfPtr>(scheme->keyfunc, NID_id_pbkdf2, PBKDF2PARAM_it);
  std::uint64_t iterations = 0;
  return derivation && ASN1_INTEGER_get_uint64(&iterations, derivation->iter) == 1 &&
         iterations <= kMostIterations;
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
  return tl::unexpected(Error{"use bundle", path, "the passphrase is not that of its key", {}, EKEYREJECTED});
}

/// Puts each certificate where it belongs.
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
  auto certificates = certificates_in(pem, path);
  if (!certificates) return tl::unexpected(certificates.error());
  const std::size_t keys = keys_in(pem);
  if (certificates->empty() || keys == 0) return holds_no("bundle", path, pem);
  if (keys > 1) {
    return fail("use bundle", path, "it holds more than one private key",
                "leave our certificate's in it; a CA's stays where certificates are issued");
  }
  auto key = is_encrypted(pem) ? encrypted_key_in(pem, path, passphrase) : plain_key_in(pem, path);
  if (!key) return tl::unexpected(key.error());
  return sorted(std::move(*certificates), std::move(*key), path);
}

}  // namespace

Result<Credentials> load_bundle(const TlsFiles& files) {
  const auto pem = read_pem("bundle", files.cert);
  if (!pem) return tl::unexpected(pem.error());
  if (files.passphrase_file.empty()) return bundle_in(*pem, files.cert, files.passphrase.get());
  const auto passphrase = read_passphrase(files.passphrase_file);
  if (!passphrase) return tl::unexpected(passphrase.error());
  return bundle_in(*pem, files.cert, &*passphrase);
}

bool is_encrypted_bundle(const std::string& path) {
  const auto pem = read_pem("bundle", path);
  return pem && is_encrypted(*pem);
}

}  // namespace farport::auth
