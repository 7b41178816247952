#include "base/process_stat.hpp"

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

namespace farport {

std::optional<ProcessStat> process_stat(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  // The second field is the name in parentheses, which may hold anything, more parentheses included.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  ProcessStat stat;
  const std::size_t name_start = text.find('(') + 1;
  stat.name = text.substr(name_start, name_end - name_start);
  fields >> stat.state >> stat.parent;
  std::string skipped;
  for (int field = 5; field < 22; ++field) fields >> skipped;
  if (!(fields >> stat.start_time)) return std::nullopt;
  return stat;
}

std::optional<ProcessStatus> process_status(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  if (!file) return std::nullopt;
  ProcessStatus status;
  status.own_pid = static_cast<std::uint64_t>(pid);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string_view key = std::string_view(line).substr(0, colon);
    std::istringstream values(line.substr(colon + 1));
    std::uint64_t real = 0;
    if (key == "Uid") values >> real >> status.user;
    if (key == "Gid") values >> real >> status.group;
    if (key == "CapPrm") values >> std::hex >> status.capabilities;
    if (key == "Seccomp") {
      constexpr std::uint64_t kFilter = 2;
      status.filtered = (values >> std::dec >> real) && real == kFilter;
    }
    // One for each namespace, from ours to its own.
    if (key == "NSpid") {
      while (values >> real) status.own_pid = real;
    }
  }
  return status;
}

std::uint64_t pid_in_own_namespace(pid_t pid) {
  if (pid <= 0) return 0;
  const std::optional<ProcessStatus> status = process_status(pid);
  return status ? status->own_pid : static_cast<std::uint64_t>(pid);
}

}  // namespace farport
