// What one side of TLS shows and trusts: certificates, keys and CAs from PEM files and bundles, and what
// opens keys.
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

// What opens an encrypted key.

/// The longest passphrase, in bytes.
inline constexpr std::size_t kLongestPassphrase = 1024;

/// Wiped when it goes. Nothing prints it.
class Passphrase {
 public:
  explicit Passphrase(std::string_view text) : text_(text.begin(), text.end()) {}
  Passphrase(Passphrase&&) = default;
  Passphrase& operator=(Passphrase&&) = delete;
  Passphrase(const Passphrase&) = delete;
  Passphrase& operator=(const Passphrase&) = delete;
  ~Passphrase();

  /// Valid as long as this.
  [[nodiscard]] std::string_view text() const { return {text_.data(), text_.size()}; }

 private:
  std::vector<char> text_;  ///< Not a string: moving one of those may leave a copy behind.
};

/// The first line of a regular file, without its end. An empty one, and one that is longer than
/// kLongestPassphrase, are errors.
[[nodiscard]] Result<Passphrase> read_passphrase(const std::string& path);

// What a side of TLS is made from.

class Passphrase;

/// Paths of PEM files, and what they can't say: which of the CA's agents is meant.
struct TlsFiles {
  std::string cert;   ///< Our certificate, then its intermediates.
  std::string key;    ///< Its private key, unencrypted. May be the same file.
  std::string ca;     ///< Trust anchors for the other side's certificate; each one in it is trusted as it is.
  std::string crl{};  ///< Lists of revoked certificates; empty: none is revoked.
  IdentityFilter agent{};  ///< Of a mirror: what the agent's certificate must say besides; empty: nothing.
  bool bundled = false;    ///< cert, key and ca are one file: a bundle, whose key may be encrypted.
  std::string passphrase_file{};                      ///< What opens it; empty: `passphrase`.
  std::shared_ptr<const Passphrase> passphrase = {};  ///< As it was typed; null: it needs none.

  /// A bundle alone.
  [[nodiscard]] static TlsFiles of_bundle(const std::string& path);
  /// Each file that is read, once.
  [[nodiscard]] std::vector<std::string> paths() const;

  bool operator==(const TlsFiles&) const = default;
};

/// Which side of TLS a certificate is used on: the agent accepts and is the server, the mirror dials.
enum class Side { server, client };

// PEM files as they are read: their text, and what is in it.

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

// Certificates and keys from PEM files, with errors that say what to do.

/// All certificates of a PEM file, in order; at least one.
[[nodiscard]] Result<std::vector<X509Ptr>> load_certificates(const std::string& path);

/// All revocation lists of a PEM file, in order; at least one.
[[nodiscard]] Result<std::vector<X509CrlPtr>> load_crls(const std::string& path);

/// The private key of a PEM file, unencrypted.
[[nodiscard]] Result<EvpPkeyPtr> load_key(const std::string& path);

/// What to say of a file with a secret that others may read or anybody but its owner may write: "it is
/// readable by everybody (mode 0644)". Empty if it is fine. A file that cannot be looked at is fine here.
[[nodiscard]] std::string permission_warning(const std::string& path);

/// Certificates and key of one side, belonging together, and whom it trusts.
struct Credentials {
  std::vector<X509Ptr> chain;  ///< Ours first.
  EvpPkeyPtr key;
  std::vector<X509Ptr> anchors;  ///< Of the other side's certificates.
};

/// Loads a certificate and its key and checks that they are a pair. There are no anchors.
[[nodiscard]] Result<Credentials> load_pair(const std::string& cert, const std::string& key);

/// Whether our own certificate can be used on this side, today. `path` is for the message.
[[nodiscard]] Result<void> check_usable(X509* certificate, Side side, const std::string& path);

// Bundles: one PEM file with all that one side needs, which is its certificate, the private key and the CA.

/// Reads a bundle. Ours is the certificate that the key belongs to; those that are self-signed are the
/// anchors; the rest are our intermediates. The order doesn't matter. The key may be PKCS#8, encrypted by
/// PBES2 with PBKDF2 (RFC 8018) and no more than 2,000,000 iterations: reading takes a bounded time.
/// Errors: anything missing, a second private key, no passphrase where one is needed; a wrong one has the
/// cause EKEYREJECTED.
[[nodiscard]] Result<Credentials> load_bundle(const TlsFiles& files);

/// Whether a bundle's key asks for a passphrase. False for a file that can't be read.
[[nodiscard]] bool is_encrypted_bundle(const std::string& path);

/// What a bundle of NAME.crt, NAME.key and ca.crt in `directory` holds. Errors: anything that a bundle can't
/// be of, such as a certificate of another CA; and the CA's own certificate and key, since that key goes
/// nowhere.
[[nodiscard]] Result<Credentials> load_issued(const std::string& directory, const std::string& name);

/// Writes a bundle with mode 0600; with a passphrase its key is encrypted (PBES2: AES-256-CBC, PBKDF2 with
/// HMAC-SHA256 and 600,000 iterations). A file that exists is an error, or with `overwrite` replaced by
/// renaming a new one over it; links are not followed.
[[nodiscard]] Result<void> write_bundle(const std::string& path, const Credentials& credentials,
                                        const Passphrase* passphrase, bool overwrite);

/// Loads all that the files hold but CRLs: the three of them, or the bundle.
[[nodiscard]] Result<Credentials> load_credentials(const TlsFiles& files);

}  // namespace farport::auth
