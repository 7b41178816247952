// Certificates, keys, CAs and CRLs that are replaced while farport runs.
#pragma once

#include "router/certificates/expiry_warnings.hpp"
#include "router/certificates/file_watch.hpp"
#include "router/certificates/peer_revalidator.hpp"
#include "transport/event.hpp"
#include "transport/timer.hpp"

namespace farport::router {

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
