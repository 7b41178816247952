#include "base/process_stat.hpp"

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace farport {

std::optional<ProcessStat> process_stat(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  // The second field is the name in parentheses, which may hold anything, more parentheses included.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  ProcessStat stat;
  fields >> stat.state;
  std::string skipped;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  if (!(fields >> stat.start_time)) return std::nullopt;
  return stat;
}

}  // namespace farport
