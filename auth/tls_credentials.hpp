// What one side shows and trusts in TLS, as its files were when they were read.
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

// Telling by stat(2) that a file is another one than before.

/// Differs between two files, and between a file before and after a write. All zero where there is no file.
/// A symbolic link stands for what it leads to.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;  ///< Since 1970.
  std::int64_t changed_ns = 0;   ///< Of the inode: also changes when a file is made readable.
  bool operator==(const FileStamp&) const = default;
};
using FileStamps = std::vector<FileStamp>;

/// The stamps of files, in their order.
[[nodiscard]] FileStamps stamps_of(const std::vector<std::string>& paths);

/// The directories in which something may change when `path` leads to another file: its own, and those of all
/// symbolic links on the way, as in a Kubernetes secret (file → ..data → ..2026_11_21/file). Absolute, and
/// themselves without links. As far as there is anything.
[[nodiscard]] std::set<std::string> directories_leading_to(const std::string& path);

/// How long one of the things in the files may be used.
struct Lifetime {
  enum class Kind {
    own,           ///< Our certificate.
    intermediate,  ///< Of the CAs that come with it.
    authority,     ///< A CA that we trust.
    crl,           ///< A list of revoked certificates.
  };
  Kind kind = Kind::own;
  std::string path;
  std::string name;         ///< The subject's; a list's issuer's.
  std::string fingerprint;  ///< SHA-256, hexadecimal.
  std::time_t from = 0;
  std::time_t until = 0;    ///< 0: a list without an end.
  std::size_t revoked = 0;  ///< How many certificates a list holds.

  /// "our certificate CN=agent (/etc/farport/agent.crt)", for a message.
  [[nodiscard]] std::string described() const;
};

class TlsCredentials;
using TlsCredentialsPtr = std::shared_ptr<const TlsCredentials>;

/// Never changes: when the files have, another one is loaded. Connections keep the one that they began with.
class TlsCredentials {
 public:
  /// Reads the files and makes a context of them: make_server_context() or make_client_context(), whose
  /// errors it has.
  [[nodiscard]] static Result<TlsCredentialsPtr> load(const TlsFiles& files, Side side);

  /// Lives as long as this; an SSL made with it keeps it alive.
  [[nodiscard]] SSL_CTX* context() const { return context_.get(); }
  [[nodiscard]] const TlsFiles& files() const { return files_; }
  [[nodiscard]] Side side() const { return side_; }
  /// The paths that are in use.
  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }
  /// What the files at paths() were when they were read.
  [[nodiscard]] const FileStamps& stamps() const { return stamps_; }
  /// Ours first.
  [[nodiscard]] const std::vector<Lifetime>& lifetimes() const { return lifetimes_; }
  /// Whether our own certificate is valid for this host name (RFC 9525: wildcards count). False for "".
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

/// What the new ones have that the old ones had not, and the other way round, on one line: "our certificate
/// CN=agent (…), valid until 2027-01-01 00:00 UTC; no longer trusts CN=old". Never empty.
[[nodiscard]] std::string what_is_new(const TlsCredentials& before, const TlsCredentials& now);

/// The CAs that we trust and of which the CRL file, if one is in use, holds no list: the certificates that
/// they have issued themselves are refused.
[[nodiscard]] std::vector<std::string> authorities_without_crl(const TlsCredentials& credentials);

/// "2026-11-21 04:36 UTC".
[[nodiscard]] std::string time_text(std::time_t time);

// Peers that were let in, seen with the trust of a later day.

/// Verifies the certificate that the peer of a finished handshake has shown, as a handshake would today.
/// Gives the time at which the first certificate of its chain expires. Errors: why it would be refused;
/// Error::cause is EKEYREVOKED, EKEYEXPIRED or EKEYREJECTED. A list of revoked certificates that is out of
/// date is no reason to refuse: it was in force when the peer came.
[[nodiscard]] Result<std::time_t> reverify(SSL* ssl, const TlsCredentials& credentials);

/// When the first certificate of the peer's chain expires, as the handshake has verified it.
[[nodiscard]] std::time_t valid_until(const SSL* ssl);

/// Whether a peer that was ended for this may go on with another certificate of the same names: one that was
/// only overtaken by a rotation, not one whose certificate has been revoked.
[[nodiscard]] bool may_return(const Error& distrust);

}  // namespace farport::auth
