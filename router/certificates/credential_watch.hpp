// Certificates, keys, CAs and CRLs that are replaced while farport runs.
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
#include "transport/event.hpp"
#include "transport/http2/session.hpp"
#include "transport/loop.hpp"
#include "transport/timer.hpp"

namespace farport::router {

// The peers that have been let in, for when what is trusted changes.

class VerifiedPeer;

/// Holds no connections: each tells itself here with a VerifiedPeer, for as long as it lives.
class PeerRevalidator {
 public:
  PeerRevalidator(transport::Loop& loop, auth::TlsCredentialsPtr credentials)
      : loop_(loop), credentials_(std::move(credentials)) {}
  PeerRevalidator(const PeerRevalidator&) = delete;
  PeerRevalidator& operator=(const PeerRevalidator&) = delete;

  /// From now on these count. Ends the connections whose peer they don't verify. Others may run meanwhile:
  /// it takes a while with many.
  transport::Task<void> trust(auth::TlsCredentialsPtr credentials);
  /// Ends the connections of peers whose certificate has expired.
  void end_expired(std::time_t now);

 private:
  friend class VerifiedPeer;
  transport::Loop& loop_;
  auth::TlsCredentialsPtr credentials_;
  transport::NodeList waiting_;   ///< To be verified again.
  transport::NodeList verified_;  ///< With credentials_.
};

class VerifiedPeer final : private transport::ListNode {
 public:
  /// `end` aborts the connection with the reason; it is called once at most, from the loop, or at once if the
  /// handshake was with credentials that have been replaced since. `ssl` must outlive this.
  VerifiedPeer(PeerRevalidator& peers, SSL* ssl, std::function<void(const Error&)> end);
  ~VerifiedPeer() = default;

  /// Why the connection was ended from here; nothing if it wasn't.
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

/// Ends a session for a VerifiedPeer. To the peer it looks broken where it may return, so that what runs in
/// it waits for the session that comes with the certificate after a rotation.
void end_distrusted(transport::Http2Session& session, const Error& why);

// Saying in time that certificates and revocation lists have to be renewed.

class ExpiryWarnings {
 public:
  explicit ExpiryWarnings(Log log) : log_(std::move(log)) {}

  /// Warns of what ends soon: certificates from 14 days before, CRLs in the last fifth of their time, which
  /// is often short; of what has ended, as an error. Says each again once a day, however often it is called.
  void look(const auth::TlsCredentials& credentials, std::time_t now);
  /// Has look() say everything again.
  void forget() { told_.clear(); }

 private:
  struct Told {
    bool over = false;
    std::time_t at = 0;
  };

  Log log_;
  std::map<std::string, Told> told_;  ///< By fingerprint.
};

// Notices that files may have changed, however that is done: written to, replaced, or through a symbolic link
// on the way.

class FileWatch {
 public:
  /// `on_event` is called from the loop when something has happened in a directory that matters. It may have
  /// been to another file: compare stamps.
  FileWatch(transport::Loop& loop, std::function<void()> on_event);
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;
  ~FileWatch();

  /// Watches what leads to these files now, and nothing else. Call it again after each event, and once in a
  /// while: directories come, go and are replaced, and not every file system notifies.
  void follow(const std::vector<std::string>& paths);

 private:
  class Directory;

  transport::Loop& loop_;
  std::function<void()> on_event_;
  std::map<std::string, std::unique_ptr<Directory>> directories_;  ///< By path.
};

/// Holds the credentials in force, and takes new ones over when the files change. What new files bring is for
/// the handshakes to come; connections go on with what they began with, but those whose peer would not be let
/// in any more are ended.
class CredentialWatch {
 public:
  /// `rescan`: how often to look at file systems that don't notify.
  CredentialWatch(transport::Loop& loop, Log log, auth::TlsCredentialsPtr credentials,
                  transport::Milliseconds rescan = kRescan);
  CredentialWatch(const CredentialWatch&) = delete;
  CredentialWatch& operator=(const CredentialWatch&) = delete;

  /// Watches until it is cancelled.
  transport::Task<void> run();
  /// Reads the files again, whether they have changed or not: for SIGHUP.
  void reload();

  /// For the next handshake.
  [[nodiscard]] SSL_CTX* context() const { return current_->context(); }
  [[nodiscard]] const auth::TlsCredentials& current() const { return *current_; }
  [[nodiscard]] PeerRevalidator& peers() { return peers_; }

  /// Why handshakes fail at that time, or would after a restart: what has expired or isn't valid yet, and
  /// files that can't be used. A sentence each; none if all is well.
  [[nodiscard]] std::vector<std::string> faults(std::time_t now) const;

  // For metrics.

  /// When our own certificate expires.
  [[nodiscard]] std::time_t expires() const { return current_->lifetimes().front().until; }
  /// How often new files have been taken over, and how often that failed.
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
  auth::FileStamps tried_;  ///< What the files were at the last try, whether it went well or not.
  bool asked_ = false;
  std::string complaint_;           ///< About the files as they are; empty if all is well.
  auth::FileStamps complained_of_;  ///< The files that complaint_ is about.
  std::uint64_t try_again_at_ = 0;
  std::uint64_t reloads_ = 0;
  std::uint64_t failed_reloads_ = 0;
};

}  // namespace farport::router
