// Discovery: finds the diagnostic ports in the search directories, as they come and go.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "router/diagnostic_port.hpp"
#include "router/hidden_runtimes.hpp"

namespace farport::router {

struct NamedPort {
  std::string name;
  std::string path;
};

struct DiscoverySettings {
  std::vector<std::string> search;  ///< Directories that hold dotnet-diagnostic-{pid}-{key}-socket files.
  std::vector<NamedPort> named;     ///< Listen ports at paths of their own.
  transport::Milliseconds rescan{5000};  ///< For file systems without notifications.
};

/// Whether a file name is that of a runtime's default listen port.
[[nodiscard]] bool is_default_port_name(std::string_view file_name);

class Discovery {
 public:
  Discovery(transport::Loop& loop, Registry& registry, Log log, DiscoverySettings settings);
  Discovery(const Discovery&) = delete;
  Discovery& operator=(const Discovery&) = delete;
  ~Discovery();

  /// Keeps the registry up to date until it is cancelled.
  transport::Task<void> run();

 private:
  class DirectoryWatch;
  struct Followed;
  struct Found {
    std::string path;
    std::string name;
    ino_t inode = 0;  ///< As the directory has it; 0 where that has not been read.
  };

  void scan();
  /// False: for want of descriptors or memory there is no knowing.
  bool scan_directory(const std::string& directory, std::vector<Found>& found);
  void watch_directories();
  void follow(const Found& found);
  void report_once(const std::string& about, const std::string& message);

  transport::Loop& loop_;
  Registry& registry_;
  Log log_;
  DiscoverySettings settings_;
  transport::Event changed_;
  std::map<std::string, std::unique_ptr<DirectoryWatch>> watches_;
  std::map<std::string, std::unique_ptr<Followed>> followed_;  ///< By path.
  std::map<std::string, std::string> reported_;                ///< The last complaint about each path.
  HiddenRuntimes hidden_;
};

}  // namespace farport::router
