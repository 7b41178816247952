#include "router/agent/runtimes/process_sockets.hpp"

#include <cerrno>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/read_file.hpp"
#include "base/process_stat.hpp"
#include "router/agent/runtimes/container.hpp"
#include "router/agent/runtimes/process_root.hpp"
#include "router/agent/runtimes/standing.hpp"

namespace farport::router {
namespace {

constexpr std::size_t kMaxHostname = 512;

std::string name_of(const PortProcess& process) {
  return "the .NET process " + std::to_string(process.pid);
}

/// Whether the pid still means the process.
bool is_same(const PortProcess& process) {
  const auto stat = process_stat(process.pid);
  return stat && stat->start_time == process.start_time;
}

struct OpenSocket {
  UniqueFd fd;  ///< O_PATH.
  SocketFile file;
  std::string path;  ///< In the process's own file system.
};

/// Opens the socket at one of the paths, links being what they are in that root: that of the process's user,
/// where there are several. Errors: why there is none.
Result<OpenSocket> open_socket(const ProcessRoot& root, const PortProcess& process) {
  OpenSocket found;
  int error = ENOENT;
  for (const std::string& path : process.paths) {
    UniqueFd fd =
        root.open_beneath(path, O_PATH | O_NOFOLLOW | O_CLOEXEC, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
    // Where one is out of reach, that says more than that another one isn't there.
    if (!fd && (error == ENOENT || errno != ENOENT)) error = errno;
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISSOCK(status.st_mode)) continue;
    const bool first = !found.fd;
    if (first || status.st_uid == process.user) {
      found = {std::move(fd), {status.st_dev, status.st_ino, status.st_uid}, path};
    }
    if (status.st_uid == process.user) break;
  }
  if (!found.fd) {
    return tl::unexpected(explain_lost_socket(name_of(process), process.paths.front(), error,
                                              standing_of(::getpid()), standing_of(process.pid)));
  }
  return found;
}

/// What a pod's container calls its host is the pod's name.
std::string hostname_of(const ProcessRoot& root) {
  const UniqueFd file = root.open_beneath("etc/hostname", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                                          RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return std::string(hostname_in(read_limited(file.get(), kMaxHostname).value_or("")));
}

Container container_of(const PortProcess& process, const ProcessRoot& root) {
  ContainerSigns signs = router::container_of(process.pid);
  if (signs.in_pod) signs.container.pod = hostname_of(root);
  return std::move(signs.container);
}

Result<FoundSocket> find_socket(const PortProcess& process, const std::map<std::string, FoundSocket>& known) {
  auto root = ProcessRoot::open(process.pid);
  if (!root && root.error().cause != ENOENT && root.error().cause != ESRCH) {
    return tl::unexpected(
        explain_refusal(name_of(process), standing_of(::getpid()), standing_of(process.pid)));
  }
  if (!root) return tl::unexpected(root.error());
  auto socket = open_socket(*root, process);
  if (!socket) return tl::unexpected(socket.error());
  FoundSocket found;
  found.path =
      root->is_ours() ? socket->path : "/proc/" + std::to_string(process.pid) + "/root" + socket->path;
  found.file = socket->file;
  const auto same = known.find(found.path);
  if (same != known.end() && same->second.file == found.file) return same->second;
  if (auto usable = check_owner(found.path, found.file.owner); !usable) return tl::unexpected(usable.error());
  found.container = container_of(process, *root);
  found.opened = std::make_shared<const OpenedSocket>(OpenedSocket{std::move(socket->fd), process.pid});
  return found;
}

}  // namespace

ProcessSockets open_sockets_of(const std::vector<PortProcess>& processes,
                               const std::map<std::string, FoundSocket>& known) {
  ProcessSockets all;
  for (const PortProcess& process : processes) {
    auto found = find_socket(process, known);
    // Whatever was found then is another process's.
    if (!is_same(process)) continue;
    if (found) {
      all.sockets.emplace(found->path, *found);
    } else {
      all.problems.push_back(problem_of(DiscoveryIssue::out_of_reach, process.user, found.error()));
    }
  }
  return all;
}

}  // namespace farport::router
