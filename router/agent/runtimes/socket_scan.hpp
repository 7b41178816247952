// Looking for runtimes' sockets in directories that other users may write to. Blocks; for a thread other than
// the loop's.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <sys/stat.h>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "router/agent/runtimes/user_shares.hpp"
#include "router/wire/diagnosis.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {

/// What makes a socket file the same file as before.
struct SocketFile {
  dev_t device = 0;
  ino_t inode = 0;
  uid_t owner = 0;
  bool operator==(const SocketFile&) const = default;
};

/// The socket file at `path`. Links are not followed. Errors: there is none, or it is something else.
[[nodiscard]] Result<SocketFile> inspect_socket(const std::string& path);
/// The one that is open; `path` names it in errors.
[[nodiscard]] Result<SocketFile> inspect_socket(const UniqueFd& fd, const std::string& path);

/// Whether this process may use a socket of that user's: its own, and any if it is root.
[[nodiscard]] Result<void> check_owner(const std::string& path, uid_t owner);

/// Whether a file name is that of a runtime's default listen port.
[[nodiscard]] bool is_default_port_name(std::string_view file_name);

struct NamedPort {
  std::string name;
  std::string path;
};

struct SocketScan {
  std::vector<std::string> search;         ///< Directories.
  std::vector<NamedPort> named;            ///< Sockets at paths of their own.
  UserShares shares;                       ///< How many sockets may be found; named ones don't count.
  std::unordered_set<std::string> listed;  ///< Paths whose runtimes are listed: these go before others.
};

/// A socket that was found through a process: it is used by this descriptor, since whatever is at its path
/// may be changed, or take its time, as that process likes.
struct OpenedSocket {
  UniqueFd fd;        ///< O_PATH.
  pid_t process = 0;  ///< Nobody else may listen on it.
};

struct FoundSocket {
  std::string path;
  std::string name;  ///< As it is configured; empty: found in a search directory, or through a process.
  SocketFile file;
  std::shared_ptr<const OpenedSocket> opened{};  ///< Null: found by its path.
  Container container{};                         ///< As far as that is known by now.
};

/// Something that looks like a runtime's socket and can't be used, or a directory that can't be read.
struct ScanProblem {
  std::string about;  ///< The path.
  uid_t user = 0;     ///< Who made it.
  DiscoveryIssue issue = DiscoveryIssue::other;
  Error error;
};

struct ScanResult {
  /// False: a directory could not be read since there were no descriptors or no memory. What is not found
  /// may be there all the same.
  bool complete = true;
  std::vector<FoundSocket> sockets;
  /// A few of each user's.
  std::vector<ScanProblem> problems;
  /// How many sockets of each user were left out, since there are more than the user's share.
  std::map<uid_t, std::size_t> left_out;
  std::chrono::microseconds took{};
};

/// Finds the sockets, but for those that mirrors have made: an agent that offered those again could mirror
/// itself. Of a user who has more than the share, those that are listed and then the newest.
[[nodiscard]] ScanResult scan_sockets(const SocketScan& scan);

}  // namespace farport::router
