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
  fields >> stat.state;
  std::string skipped;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  if (!(fields >> stat.start_time)) return std::nullopt;
  return stat;
}

std::uint64_t pid_in_own_namespace(pid_t pid) {
  if (pid <= 0) return 0;
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  constexpr std::string_view kKey = "NSpid:";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kKey)) continue;
    // One for each namespace, from ours to its own.
    std::istringstream numbers(line.substr(kKey.size()));
    std::uint64_t own = 0;
    while (numbers >> own) {
    }
    return own;
  }
  return static_cast<std::uint64_t>(pid);
}

}  // namespace farport
