// CredentialWatch: certificates, keys, CAs and CRLs that are replaced while farport runs.
#pragma once

#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "auth/tls_credentials.hpp"
#include "base/log.hpp"
#include "transport/directory_watch.hpp"
#include "transport/event.hpp"
#include "transport/http2/session.hpp"
#include "transport/loop.hpp"
#include "transport/timer.hpp"

namespace farport::router {

class VerifiedPeer;

/// Verifies peers again when what is trusted changes. Does not own connections: each registers with a
/// VerifiedPeer for as long as it lives.
class PeerRevalidator {
 public:
  PeerRevalidator(transport::Loop& loop, auth::TlsCredentialsPtr credentials)
      : loop_(loop), credentials_(std::move(credentials)) {}
  PeerRevalidator(const PeerRevalidator&) = delete;
  PeerRevalidator& operator=(const PeerRevalidator&) = delete;

  /// Uses these credentials from now on, and ends the connections whose peers they don't trust. With many
  /// peers this takes several turns of the loop.
  transport::Task<void> trust(auth::TlsCredentialsPtr credentials);
  /// Ends the connections whose peers' certificates have expired.
  void end_expired(std::time_t now);

 private:
  friend class VerifiedPeer;
  transport::Loop& loop_;
  auth::TlsCredentialsPtr credentials_;
  transport::NodeList waiting_;   ///< Peers to verify again.
  transport::NodeList verified_;  ///< Peers that were verified with credentials_.
};

/// Registers a connection, and ends it when its peer is no longer trusted.
class VerifiedPeer final : private transport::ListNode {
 public:
  /// `end` must abort the connection with the given reason. It is called at most once, from the loop, or at
  /// once if the credentials have been replaced since the handshake. `ssl` must outlive this object.
  VerifiedPeer(PeerRevalidator& peers, SSL* ssl, std::function<void(const Error&)> end);
  ~VerifiedPeer() = default;

  /// Why this has ended the connection; nothing if it hasn't.
  [[nodiscard]] const std::optional<Error>& ended() const { return ended_; }

 private:
  friend class PeerRevalidator;
  void verify();

  PeerRevalidator& peers_;
  SSL* ssl_;
  std::function<void(const Error&)> end_;
  std::time_t until_;
  std::optional<Error> ended_;
};

/// Ends a session for a VerifiedPeer. If the peer may return, the session looks broken to it, so that what
/// runs in it can be resumed with a new certificate.
void end_distrusted(transport::Http2Session& session, const Error& why);

/// Warns in time that certificates and CRLs must be renewed.
class ExpiryWarnings {
 public:
  explicit ExpiryWarnings(Log log) : log_(std::move(log)) {}

  /// Warns of what will expire: of certificates from 14 days before, of CRLs in the last fifth of their time,
  /// which is often short. Logs what has expired as an error. Repeats each once a day, however often it is
  /// called.
  void look(const auth::TlsCredentials& credentials, std::time_t now);
  /// Makes look() log everything again.
  void forget() { last_warning_.clear(); }

 private:
  struct LastWarning {
    bool over = false;
    std::time_t at = 0;
  };

  Log log_;
  std::map<std::string, LastWarning> last_warning_;  ///< By fingerprint.
};

/// Notices that files may have changed: by being written, by being replaced, or through a symbolic link on
/// the way.
class FileWatch {
 public:
  /// `on_event` is called from the loop when something has changed in a relevant directory. It may have been
  /// another file, so compare stamps.
  FileWatch(transport::Loop& loop, std::function<void()> on_event);
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  /// Watches the directories that lead to these files now, and no others. Call it again after each event, and
  /// at intervals, since directories may be replaced and not every file system sends events.
  void follow(const std::vector<std::string>& paths);

 private:
  transport::Loop& loop_;
  std::function<void()> on_event_;
  std::map<std::string, std::unique_ptr<transport::DirectoryWatch>> directories_;  ///< By path.
};

/// Holds the present credentials, and loads new ones when the files change. New credentials are used for new
/// handshakes. Existing connections go on with the old ones, but those whose peers are no longer trusted are
/// ended.
class CredentialWatch {
 public:
  /// `rescan` is how often to check file systems that send no events.
  CredentialWatch(transport::Loop& loop, Log log, auth::TlsCredentialsPtr credentials,
                  transport::Milliseconds rescan = kRescan);
  CredentialWatch(const CredentialWatch&) = delete;
  CredentialWatch& operator=(const CredentialWatch&) = delete;

  /// Watches until it is cancelled.
  transport::Task<void> run();
  /// Reads the files again even if they have not changed, as on SIGHUP.
  void reload();

  /// The context for the next handshake.
  [[nodiscard]] SSL_CTX* context() const { return current_->context(); }
  [[nodiscard]] const auth::TlsCredentials& current() const { return *current_; }
  [[nodiscard]] PeerRevalidator& peers() { return peers_; }

  /// Why handshakes fail at that time, or would fail after a restart: something has expired or is not valid
  /// yet, or the files can't be used. A sentence each; empty if all is well.
  [[nodiscard]] std::vector<std::string> faults(std::time_t now) const;

  // For metrics.

  /// When our own certificate expires.
  [[nodiscard]] std::time_t expires() const { return current_->lifetimes().front().until; }
  /// How often new files were loaded, and how often that failed.
  [[nodiscard]] std::uint64_t reloads() const { return reloads_; }
  [[nodiscard]] std::uint64_t failed_reloads() const { return failed_reloads_; }

 private:
  static constexpr transport::Milliseconds kRescan{5000};

  [[nodiscard]] bool due();
  transport::Task<void> take_over();
  transport::Task<void> wait_until_still();
  transport::Task<Result<auth::TlsCredentialsPtr>> load();
  transport::Task<Result<auth::TlsCredentialsPtr>> load_once();
  void adopt(auth::TlsCredentialsPtr loaded);
  void report(const Error& error);
  void tell_of_gaps();
  void tell_of_permissions(std::string_view what, const std::string& path);

  transport::Loop& loop_;
  Log log_;
  auth::TlsCredentialsPtr current_;
  transport::Milliseconds rescan_;
  transport::Event changed_;
  FileWatch files_;
  PeerRevalidator peers_;
  ExpiryWarnings warnings_;
  auth::FileStamps tried_;  ///< The files at the last try, whether it succeeded or not.
  bool asked_ = false;
  std::string complaint_;           ///< The last error about the files; empty if all is well.
  auth::FileStamps complained_of_;  ///< The files that the error is about.
  std::uint64_t try_again_at_ = 0;
  std::uint64_t reloads_ = 0;
  std::uint64_t failed_reloads_ = 0;
};

}  // namespace farport::router
