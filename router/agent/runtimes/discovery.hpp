// Discovery: finds diagnostic ports in the search directories, and follows them as they come and go.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "router/agent/runtimes/listen_port.hpp"
#include "router/agent/runtimes/process_watch.hpp"
#include "router/agent/runtimes/socket_scan.hpp"
#include "transport/directory_watch.hpp"
#include "transport/rate_limited_log.hpp"

namespace farport::router {

class MetricsText;

/// Where to search, and how.
struct DiscoverySettings {
  std::vector<std::string> search;  ///< Directories that hold dotnet-diagnostic-{pid}-{key}-socket files.
  bool search_processes = false;    ///< Also look into every visible process.
  std::vector<NamedPath> named;     ///< Listen ports at other paths.
  transport::Milliseconds rescan{5000};  ///< The longest time between two scans.
  bool tell_of_others = true;            ///< Log what can't be reached, which mostly belongs to other users.
};

class Discovery {
 public:
  Discovery(transport::Loop& loop, Registry& registry, Log log, DiscoverySettings settings);
  Discovery(const Discovery&) = delete;
  Discovery& operator=(const Discovery&) = delete;
  ~Discovery();

  /// Keeps the registry up to date until it is cancelled.
  transport::Task<void> run();

  /// Waits until each socket that was there at the start is either listed or known not to be usable, and an
  /// empty list has a reason, but until two seconds after the start at most. An agent that has just begun has
  /// no list yet. run() must be running.
  transport::Task<void> first_look();

  /// For findings(): finds out which .NET processes are not listed, and why. Takes two seconds at most. run()
  /// must be running.
  transport::Task<void> look_for_unserved();

  /// What was searched, and what was found there but is not listed.
  [[nodiscard]] DiscoveryReport findings() const;

  /// Writes how many sockets are followed, and how many are left out.
  void write_metrics(MetricsText& text) const;

 private:
  struct WatchedDirectory {
    int events = 0;  ///< Since the last scan.
    std::unique_ptr<transport::DirectoryWatch> watch;
  };
  struct Followed;

  transport::Task<void> settle();
  transport::Task<ScanResult> scan();
  transport::Task<void> apply(ScanResult result);
  void watch_directories();
  void on_event(WatchedDirectory& watched, const std::set<std::string>& names, const char* name);
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
  bool scanned_ = false;  ///< A scan has ended that began after the first look into processes.
  ProcessWatch processes_;
  std::map<std::string, WatchedDirectory> watches_;
  std::map<std::string, std::unique_ptr<Followed>> followed_;  ///< By path.
  std::map<std::string, std::string> reported_;                ///< The last warning about each path.
  DiscoveryReport findings_;                                   ///< Without the problems of followed sockets.
  std::size_t left_out_ = 0;                                   ///< Sockets beyond their users' shares.
};

}  // namespace farport::router
