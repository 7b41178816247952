// Credentials: the certificate, key and trust anchors of one side of TLS, and the PEM files and bundles that
// hold them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/x509.h>

#include "auth/openssl.hpp"
#include "auth/rules.hpp"
#include "base/error.hpp"

namespace farport::auth {

/// The longest passphrase, in bytes.
inline constexpr std::size_t kLongestPassphrase = 1024;

/// A passphrase, which is wiped when it is destroyed. Nothing prints it.
class Passphrase {
 public:
  explicit Passphrase(std::string_view text) : text_(text.begin(), text.end()) {}
  Passphrase(Passphrase&&) = default;
  Passphrase& operator=(Passphrase&&) = delete;
  Passphrase(const Passphrase&) = delete;
  Passphrase& operator=(const Passphrase&) = delete;
  ~Passphrase();

  /// Valid as long as this object.
  [[nodiscard]] std::string_view text() const { return {text_.data(), text_.size()}; }

 private:
  std::vector<char> text_;  ///< Not a string: moving a short one leaves a copy.
};

/// Reads the first line of a regular file, without its line end. Fails if it is empty or longer than
/// kLongestPassphrase.
[[nodiscard]] Result<Passphrase> read_passphrase(const std::string& path);

class Passphrase;

/// Paths of PEM files, and which of the CA's agents is expected.
struct TlsFiles {
  std::string cert;        ///< Our certificate, then its intermediates.
  std::string key;         ///< Its private key, unencrypted. May be the same file.
  std::string ca;          ///< Trust anchors for the other side's certificate, intermediates included.
  std::string crl{};       ///< Certificate revocation lists; empty: none.
  IdentityFilter agent{};  ///< For a mirror: further conditions on the agent's certificate; empty: none.
  bool bundled = false;    ///< cert, key and ca are the same file, whose key may be encrypted.
  std::string passphrase_file{};  ///< Holds the bundle's passphrase; empty: use `passphrase`.
  std::shared_ptr<const Passphrase> passphrase = {};  ///< As it was typed; null: none needed.

  /// The files of a bundle.
  [[nodiscard]] static TlsFiles of_bundle(const std::string& path);
  /// All files that are read, each once.
  [[nodiscard]] std::vector<std::string> paths() const;

  bool operator==(const TlsFiles&) const = default;
};

/// The side of TLS on which a certificate is used: the agent is the server, the mirror the client.
enum class Side { server, client };

/// The text of a PEM file, wiped when it is destroyed, since it may hold a private key.
struct PemText {
  std::string text;

  PemText() = default;
  PemText(PemText&&) = default;
  PemText& operator=(PemText&&) = default;
  PemText(const PemText&) = delete;
  PemText& operator=(const PemText&) = delete;
  ~PemText() { OPENSSL_cleanse(text.data(), text.size()); }

  [[nodiscard]] bool has(std::string_view part) const { return text.find(part) != std::string::npos; }
  /// A BIO that reads the text; it refers to this object.
  [[nodiscard]] BioPtr memory() const;
};

/// Reads a regular file of at most 1 MiB. `what` names it in messages: "private key".
[[nodiscard]] Result<PemText> read_pem(std::string_view what, const std::string& path);

/// All certificates in the text, in order; possibly none. A damaged one is an error.
[[nodiscard]] Result<std::vector<X509Ptr>> certificates_in(const PemText& pem, const std::string& path);

/// The first unencrypted private key in the text. Never asks for a passphrase.
[[nodiscard]] Result<EvpPkeyPtr> plain_key_in(const PemText& pem, const std::string& path);

/// An error for a file that does not hold `what`: it says what the file holds instead, with a hint.
[[nodiscard]] tl::unexpected<Error> holds_no(std::string_view what, const std::string& path,
                                             const PemText& pem);

/// A passphrase callback (pem_password_cb) that never asks anybody.
int no_passphrase(char* buffer, int size, int writing, void* user);

/// All certificates of a PEM file, in order; fails if there is none. Errors include a hint.
[[nodiscard]] Result<std::vector<X509Ptr>> load_certificates(const std::string& path);

/// All revocation lists of a PEM file, in order; fails if there is none.
[[nodiscard]] Result<std::vector<X509CrlPtr>> load_crls(const std::string& path);

/// The private key of a PEM file, unencrypted.
[[nodiscard]] Result<EvpPkeyPtr> load_key(const std::string& path);

/// Describes unsafe permissions of a file with a secret, which others may read or write: "it is readable by
/// everybody (mode 0644)". Empty if there are none, or if the file can't be examined.
[[nodiscard]] std::string permission_warning(const std::string& path);

/// A matching certificate and key of one side, and the CAs that it trusts.
struct Credentials {
  std::vector<X509Ptr> chain;  ///< Our certificate first.
  EvpPkeyPtr key;
  std::vector<X509Ptr> anchors;  ///< CAs for the other side's certificate.
};

/// Loads a certificate and its key, and checks that they match. There are no anchors.
[[nodiscard]] Result<Credentials> load_pair(const std::string& cert, const std::string& key);

/// Fails if our certificate can't be used on this side today. `path` is for messages.
[[nodiscard]] Result<void> check_usable(X509* certificate, Side side, const std::string& path);

/// Reads a bundle: one PEM file with a certificate, its private key and the CA, in any order. Our certificate
/// is the one that matches the key, self-signed ones are the anchors, the rest our intermediates. The key may
/// be PKCS#8, encrypted by PBES2 with PBKDF2 (RFC 8018) and at most 2,000,000 iterations, which bounds the
/// time. Fails if anything is missing, if there is a second private key, or without a needed passphrase;
/// `cause` is EKEYREJECTED for a wrong one.
[[nodiscard]] Result<Credentials> load_bundle(const TlsFiles& files);

/// Whether a bundle's key needs a passphrase. False for a file that can't be read.
[[nodiscard]] bool is_encrypted_bundle(const std::string& path);

/// Loads NAME.crt, NAME.key and ca.crt in `directory` for a bundle. Fails if they can't form one, for example
/// if the certificate is of another CA, and for the CA's own certificate, since its key must not be handed
/// out.
[[nodiscard]] Result<Credentials> load_issued(const std::string& directory, const std::string& name);

/// Writes a bundle with mode 0600; with a passphrase its key is encrypted (PBES2: AES-256-CBC, PBKDF2 with
/// HMAC-SHA256 and 600,000 iterations). A file that exists is an error, or with `overwrite` replaced by
/// renaming a new one over it; links are not followed.
[[nodiscard]] Result<void> write_bundle(const std::string& path, const Credentials& credentials,
                                        const Passphrase* passphrase, bool overwrite);

/// Loads everything in the files except CRLs, from three files or a bundle.
[[nodiscard]] Result<Credentials> load_credentials(const TlsFiles& files);

}  // namespace farport::auth
