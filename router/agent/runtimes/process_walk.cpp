#include "router/agent/runtimes/process_walk.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/process_stat.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "router/helpers/helper_process.hpp"

namespace farport::router {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

bool ProcessWalk::go_on(std::chrono::milliseconds budget, const std::function<void(pid_t)>& each) {
  const Clock::time_point end = Clock::now() + budget;
  const std::vector<int> pids = numbered_entries("/proc");
  // An empty list means that there are no descriptors left; it says nothing about what is there.
  if (pids.empty()) return false;
  for (auto pid = std::lower_bound(pids.begin(), pids.end(), next_); pid != pids.end(); ++pid) {
    next_ = *pid;
    if (Clock::now() >= end) return false;
    each(*pid);
  }
  next_ = 0;
  return true;
}

namespace {

/// The most bytes of one network namespace's list of sockets: 100,000 sockets.
constexpr std::size_t kMaxNetUnix = 16 * 1024 * 1024;
/// How much of the list is read at once.
constexpr std::size_t kNetUnixPart = 256 * 1024;
/// The most paths of one name. Several containers may have processes with the same pid and start time, and
/// anybody may bind a socket of that name.
constexpr std::size_t kMaxPaths = 16;
/// The most names with paths. Each takes an open socket and a living process.
constexpr std::size_t kMaxNames = 16384;
constexpr std::string_view kPortPrefix = "dotnet-diagnostic-";
constexpr std::string_view kPortSuffix = "-socket";

std::string net_unix_of(pid_t pid) {
  return directory_of_process(pid) + "/net/unix";
}

/// Identifies the network namespace of a process by the inode of its net/unix, which differs in each.
ino_t network_of(pid_t pid) {
  struct stat status {};
  return ::stat(net_unix_of(pid).c_str(), &status) == 0 ? status.st_ino : 0;
}

void read_network(pid_t pid, const std::vector<PortName>& wanted, BoundPaths& bound) {
  const UniqueFd file(::open(net_unix_of(pid).c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  for (std::size_t read = 0; file && read < kMaxNetUnix;) {
    const auto part = read_limited(file.get(), kNetUnixPart);
    if (!part || part->empty()) break;
    read += part->size();
    text += *part;
    const std::size_t lines = text.rfind('\n') + 1;
    add_bound_paths(std::string_view(text).substr(0, lines), wanted, bound);
    text.erase(0, lines);
  }
}

}  // namespace

std::optional<PortName> port_name(std::string_view file) {
  if (!file.starts_with(kPortPrefix)) return std::nullopt;
  file.remove_prefix(kPortPrefix.size());
  if (!file.ends_with(kPortSuffix)) return std::nullopt;
  file.remove_suffix(kPortSuffix.size());
  const auto pid = number_in<std::uint64_t>(take_until(file, '-'));
  const auto start_time = number_in<std::uint64_t>(file);
  if (!pid || !start_time) return std::nullopt;
  return PortName{*pid, *start_time};
}

std::string to_string(const PortName& name) {
  return std::string(kPortPrefix) + std::to_string(name.pid) + "-" + std::to_string(name.start_time) +
         std::string(kPortSuffix);
}

void add_bound_paths(std::string_view net_unix, const std::vector<PortName>& wanted, BoundPaths& bound) {
  while (!net_unix.empty()) {
    const std::string_view line = take_until(net_unix, '\n');
    // No column before the path contains a slash.
    const std::size_t start = line.find('/');
    if (start == std::string_view::npos) continue;
    const std::optional<PortName> name = port_name(file_of(line));
    if (!name || !std::binary_search(wanted.begin(), wanted.end(), *name)) continue;
    if (bound.size() >= kMaxNames && !bound.contains(*name)) continue;
    std::string path(line.substr(start));
    std::vector<std::string>& paths = bound[*name];
    const bool known = std::find(paths.begin(), paths.end(), path) != paths.end();
    if (!known && paths.size() < kMaxPaths) paths.push_back(std::move(path));
  }
}

std::vector<PortProcess> PortProcesses::look() {
  if (walk_.go_on(kLookBudget, [this](pid_t pid) { note(pid); })) {
    std::erase_if(known_, [this](const auto& entry) { return entry.second.round != round_; });
    ++round_;
  }
  const BoundPaths bound = bound_paths();
  std::vector<PortProcess> found;
  for (const auto& [pid, known] : known_) {
    const auto paths = bound.find(known.name);
    if (paths == bound.end()) continue;
    const auto status = process_status(pid);
    if (status) found.push_back({pid, known.name.start_time, status->user, paths->second});
  }
  return found;
}

void PortProcesses::note(pid_t pid) {
  const std::optional<ProcessStat> stat = process_stat(pid);
  if (!stat) return;
  // Skip this agent's own helpers.
  const bool helps = stat->name == kSamplerName || stat->name == kReaderName;
  if (helps && stat->parent == ::getpid()) return;
  const auto [place, is_new] = known_.try_emplace(pid);
  Known& known = place->second;
  known.round = round_;
  known.network = network_of(pid);
  // The pid in its own namespace never changes while the process lives, so read it once.
  if (is_new || known.name.start_time != stat->start_time) {
    known.name = {pid_in_own_namespace(pid), stat->start_time};
  }
}

BoundPaths PortProcesses::bound_paths() const {
  std::vector<PortName> wanted;
  wanted.reserve(known_.size());
  for (const auto& [pid, known] : known_) wanted.push_back(known.name);
  std::sort(wanted.begin(), wanted.end());
  BoundPaths bound;
  std::set<ino_t> networks;
  for (const auto& [pid, known] : known_) {
    if (networks.insert(known.network).second) read_network(pid, wanted, bound);
  }
  return bound;
}

}  // namespace farport::router
