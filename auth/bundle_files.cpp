// load_issued() and write_bundle(): bundles made from certificates that farport certs has issued.
#include <algorithm>
#include <array>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rand.h>
#include <sys/stat.h>

#include "auth/credentials.hpp"
#include "auth/issue.hpp"

namespace farport::auth {
namespace {

/// Makes one try of a passphrase take about a fifth of a second.
constexpr int kIterations = 600'000;

EncryptedKeyPtr encrypted(const EVP_PKEY* key, const Passphrase& passphrase) {
  std::array<unsigned char, 16> salt{};
  const KeyInfoPtr info(EVP_PKEY2PKCS8(key));
  if (!info || RAND_bytes(salt.data(), salt.size()) != 1) return nullptr;
  const std::string_view text = passphrase.text();
  // -1: PBES2 with that cipher.
  return EncryptedKeyPtr(PKCS8_encrypt(-1, EVP_aes_256_cbc(), text.data(), static_cast<int>(text.size()),
                                       salt.data(), salt.size(), kIterations, info.get()));
}

bool write_key(BIO* to, const EVP_PKEY* key, const Passphrase* passphrase) {
  if (passphrase == nullptr) {
    return PEM_write_bio_PKCS8PrivateKey(to, key, nullptr, nullptr, 0, nullptr, nullptr) == 1;
  }
  const EncryptedKeyPtr closed = encrypted(key, *passphrase);
  return closed && PEM_write_bio_PKCS8(to, closed.get()) == 1;
}

bool write_certificates(BIO* to, const std::vector<X509Ptr>& certificates) {
  return std::all_of(certificates.begin(), certificates.end(), [to](const X509Ptr& certificate) {
    return PEM_write_bio_X509(to, certificate.get()) == 1;
  });
}

bool is_signed_by(X509* certificate, const std::vector<X509Ptr>& anchors) {
  const bool found = std::any_of(anchors.begin(), anchors.end(), [&](const X509Ptr& anchor) {
    return X509_verify(certificate, X509_get0_pubkey(anchor.get())) == 1;
  });
  ERR_clear_error();
  return found;
}

}  // namespace

Result<Credentials> load_issued(const std::string& directory, const std::string& name) {
  RETURN_IF_ERROR(check_name(name));
  const PairPaths paths = pair_paths(directory, name);
  const std::string ca = pair_paths(directory, "ca").cert;
  ASSIGN_OR_RETURN(auto issued, load_credentials({paths.cert, paths.key, ca}));
  X509* own = issued.chain.front().get();
  // Whatever its name: a bundle with a CA's key could issue certificates.
  if (X509_check_ca(own) != 0) {
    return fail("bundle", paths.cert, "it is the certificate of a CA, whose key stays where it is",
                "name a certificate that farport certs server or client has made");
  }
  const ASN1_TIME* until = X509_get0_notAfter(own);
  if (X509_cmp_current_time(until) < 0) {
    return fail("bundle", paths.cert, "it expired on " + time_text(until), "issue it again, with --force");
  }
  if (!is_signed_by(issued.chain.back().get(), issued.anchors)) {
    return fail("bundle", paths.cert, "it was issued by another CA than " + ca,
                "issue it again, with --force");
  }
  for (const X509Ptr& anchor : issued.anchors) {
    if (X509_self_signed(anchor.get(), 0) == 1) continue;
    return fail("bundle", ca, "it is not self-signed, and could not be told from an intermediate",
                "give the three files instead: --tls-cert, --tls-key and --tls-ca");
  }
  return issued;
}

Result<void> write_bundle(const std::string& path, const Credentials& credentials,
                          const Passphrase* passphrase, bool overwrite) {
  const BioPtr text = secret_memory();
  const bool whole = write_certificates(text.get(), credentials.chain) &&
                     write_key(text.get(), credentials.key.get(), passphrase) &&
                     write_certificates(text.get(), credentials.anchors);
  if (!whole) return fail("write", path, take_openssl_error());
  constexpr mode_t kMode = S_IRUSR | S_IWUSR;
  return (overwrite ? write_over : write_new)(path, text_in(text.get()), kMode);
}

}  // namespace farport::auth
