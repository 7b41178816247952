// Finds runtimes' sockets in directories that other users may write to; blocks, so not on the loop's thread.
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
#include "base/files.hpp"
#include "base/unique_fd.hpp"
#include "router/agent/runtimes/user_shares.hpp"
#include "router/wire/diagnosis.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {

/// Identifies a socket file.
struct SocketFile {
  dev_t device = 0;
  ino_t inode = 0;
  uid_t owner = 0;
  bool operator==(const SocketFile&) const = default;
};

/// The socket file at `path`. Does not follow links. Errors: there is none, or it is something else.
[[nodiscard]] Result<SocketFile> inspect_socket(const std::string& path);
/// The same for an open file; errors name it by `path`.
[[nodiscard]] Result<SocketFile> inspect_socket(const UniqueFd& fd, const std::string& path);

/// Whether this process may use a socket of that user: its own user's, or any if it runs as root.
[[nodiscard]] Result<void> check_owner(const std::string& path, uid_t owner);

/// Whether a file name is that of a runtime's default listen port.
[[nodiscard]] bool is_default_port_name(std::string_view file_name);

/// What to look for.
struct SocketScan {
  std::vector<std::string> search;         ///< Directories.
  std::vector<NamedPath> named;            ///< Runtimes with sockets at paths of their own.
  UserShares shares;                       ///< How many sockets may be found; named ones are not counted.
  std::unordered_set<std::string> listed;  ///< Paths whose runtimes are listed, which go before others.
};

/// A socket that was found through a process. It is used by descriptor, since the process can change what is
/// at the path, or make opening it slow.
struct OpenedSocket {
  UniqueFd fd;        ///< O_PATH.
  pid_t process = 0;  ///< Nobody but this process may listen on it.
};

/// A socket that may be a runtime's.
struct FoundSocket {
  std::string path;
  std::string name;  ///< The configured name; empty if it was found in another way.
  SocketFile file;
  std::shared_ptr<const OpenedSocket> opened{};  ///< Null if it was found by its path.
  Container container{};                         ///< As far as known.
};

/// Something that looks like a runtime's socket but can't be used, or a directory that can't be read.
struct ScanProblem {
  std::string about;  ///< The path.
  uid_t user = 0;     ///< Its owner.
  DiscoveryIssue issue = DiscoveryIssue::other;
  Error error;
};

struct ScanResult {
  /// False if a directory could not be read for lack of descriptors or memory. What was not found may exist
  /// all the same.
  bool complete = true;
  std::vector<FoundSocket> sockets;
  /// Only a few for each user.
  std::vector<ScanProblem> problems;
  /// How many sockets of each user were left out, because they exceed the user's share.
  std::map<uid_t, std::size_t> left_out;
  std::chrono::microseconds took{};
};

/// Finds sockets, except those that mirrors have made: an agent that offered these could mirror itself. If a
/// user has more than the share, takes those that are listed, and then the newest.
[[nodiscard]] ScanResult scan_sockets(const SocketScan& scan);

}  // namespace farport::router
