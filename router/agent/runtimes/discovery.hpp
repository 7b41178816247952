// Discovery: finds the diagnostic ports in the search directories, as they come and go.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "router/agent/runtimes/listen_port.hpp"
#include "router/agent/runtimes/process_watch.hpp"
#include "router/agent/runtimes/socket_scan.hpp"
#include "transport/rate_limited_log.hpp"

namespace farport::router {

class MetricsText;

struct DiscoverySettings {
  std::vector<std::string> search;  ///< Directories that hold dotnet-diagnostic-{pid}-{key}-socket files.
  bool search_processes = false;    ///< Look into every process that is visible, too.
  std::vector<NamedPort> named;     ///< Listen ports at paths of their own.
  transport::Milliseconds rescan{5000};  ///< For file systems without notifications.
  bool tell_of_others = true;            ///< Log what can't be reached, mostly of other users.
};

class Discovery {
 public:
  Discovery(transport::Loop& loop, Registry& registry, Log log, DiscoverySettings settings);
  Discovery(const Discovery&) = delete;
  Discovery& operator=(const Discovery&) = delete;
  ~Discovery();

  /// Keeps the registry up to date until it is cancelled.
  transport::Task<void> run();

  /// Passes once each socket that was there at the start is listed or known not to be a runtime's, or it is
  /// known why there is none, and two seconds after the start at the latest: an agent that has just begun has
  /// no list yet. Beside run().
  transport::Task<void> first_look();

  /// Finds out what is not listed now, and why, for findings(); for two seconds at most. Beside run().
  transport::Task<void> look_for_unserved();

  /// What has been searched, and what was found there and is not listed.
  [[nodiscard]] DiscoveryReport findings() const;

  /// Writes how many sockets are followed, and how many are not.
  void write_metrics(MetricsText& text) const;

 private:
  class DirectoryWatch;
  struct Followed;

  transport::Task<void> settle();
  transport::Task<ScanResult> scan();
  transport::Task<void> apply(ScanResult result);
  void watch_directories();
  void follow(const FoundSocket& found);
  void report(const ScanResult& result);
  void report_once(const std::string& about, uid_t user, const std::string& message);

  transport::Loop& loop_;
  Registry& registry_;
  Log log_;
  DiscoverySettings settings_;
  UserShares shares_;
  ProbeSlots slots_;
  transport::RateLimitedLog warnings_;
  transport::Event changed_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  bool scanned_ = false;  ///< Since all that is looked into has been, once.
  ProcessWatch processes_;
  std::map<std::string, std::unique_ptr<DirectoryWatch>> watches_;
  std::map<std::string, std::unique_ptr<Followed>> followed_;  ///< By path.
  std::map<std::string, std::string> reported_;                ///< The last complaint about each path.
  DiscoveryReport findings_;                                   ///< But for what is followed.
  std::size_t left_out_ = 0;                                   ///< Sockets above their users' shares.
};

}  // namespace farport::router
