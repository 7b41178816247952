// TlsCredentials: the credentials of one side of TLS as loaded from files, and noticing that the files or the
// trust in a peer change.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "auth/openssl.hpp"
#include "auth/tls_context.hpp"

namespace farport::auth {

/// Tells by stat(2) whether a file has changed or was replaced. All zero if there is no file. For a symbolic
/// link it is of the target.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;  ///< Since 1970.
  std::int64_t changed_ns = 0;   ///< Of the inode; also changes with permissions.
  bool operator==(const FileStamp&) const = default;
};
using FileStamps = std::vector<FileStamp>;

/// The stamps of the files, in the same order.
[[nodiscard]] FileStamps stamps_of(const std::vector<std::string>& paths);

/// The directories to watch for a change of `path`: its own, and those of all symbolic links on the way, as
/// in a Kubernetes secret (file → ..data → ..2026_11_21/file). Absolute and without links, as far as the path
/// exists.
[[nodiscard]] std::set<std::string> directories_leading_to(const std::string& path);

/// How long a certificate or list may be used.
struct Lifetime {
  enum class Kind {
    own,           ///< Our certificate.
    intermediate,  ///< A CA in our chain.
    authority,     ///< A CA that we trust.
    crl,           ///< A list of revoked certificates.
  };
  Kind kind = Kind::own;
  std::string path;
  std::string name;         ///< The subject; for a list, its issuer.
  std::string fingerprint;  ///< SHA-256, hexadecimal.
  std::time_t from = 0;
  std::time_t until = 0;    ///< 0: a list that does not expire.
  std::size_t revoked = 0;  ///< Number of certificates in a list.

  /// "our certificate CN=agent (/etc/farport/agent.crt)", for messages.
  [[nodiscard]] std::string described() const;
};

class TlsCredentials;
using TlsCredentialsPtr = std::shared_ptr<const TlsCredentials>;

/// Immutable: when the files change, a new object is loaded. Connections keep the one that they began with.
class TlsCredentials {
 public:
  /// Reads the files and makes a context, with the errors of make_server_context() or make_client_context().
  [[nodiscard]] static Result<TlsCredentialsPtr> load(const TlsFiles& files, Side side);

  /// Valid as long as this object; an SSL made with it keeps it alive.
  [[nodiscard]] SSL_CTX* context() const { return context_.get(); }
  [[nodiscard]] const TlsFiles& files() const { return files_; }
  [[nodiscard]] Side side() const { return side_; }
  /// The paths of all files that were read.
  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }
  /// The stamps of the files at paths() from when they were read.
  [[nodiscard]] const FileStamps& stamps() const { return stamps_; }
  /// Our certificate first.
  [[nodiscard]] const std::vector<Lifetime>& lifetimes() const { return lifetimes_; }
  /// Whether our certificate is valid for this host name (RFC 9525, with wildcards). False for "".
  [[nodiscard]] bool has_name(const std::string& host) const;

 private:
  TlsCredentials() = default;
  void note_lifetimes();

  TlsFiles files_;
  Side side_ = Side::server;
  std::vector<std::string> paths_;
  FileStamps stamps_;
  SslCtxPtr context_;
  std::vector<Lifetime> lifetimes_;
};

/// Describes on one line what was added and removed: "our certificate CN=agent (…), valid until 2027-01-01
/// 00:00 UTC; no longer trusts CN=old". Never empty.
[[nodiscard]] std::string what_is_new(const TlsCredentials& before, const TlsCredentials& now);

/// Trusted CAs without a list in the CRL file, if one is used. Certificates that they issue are refused.
[[nodiscard]] std::vector<std::string> authorities_without_crl(const TlsCredentials& credentials);

/// "2026-11-21 04:36 UTC".
[[nodiscard]] std::string time_text(std::time_t time);

/// Verifies again, with today's trust, the certificate that the peer showed in its handshake. Returns when
/// the first certificate of its chain expires. Errors say why it would be refused; `cause` is EKEYREVOKED,
/// EKEYEXPIRED or EKEYREJECTED. An outdated CRL is no reason to refuse, since it was valid when the peer
/// connected.
[[nodiscard]] Result<std::time_t> reverify(SSL* ssl, const TlsCredentials& credentials);

/// When the first certificate of the peer's chain expires, as verified in the handshake.
[[nodiscard]] std::time_t valid_until(const SSL* ssl);

/// Whether a peer that lost trust for this reason may continue with another certificate of the same names:
/// after a rotation, but not after a revocation.
[[nodiscard]] bool may_return(const Error& distrust);

}  // namespace farport::auth
