// Fuzzes what `farport run` finds in a tool's arguments. An input is the arguments, a line each.
#include <algorithm>

#include "cli/commands/tool_arguments.hpp"
#include "tests/fuzz/target.hpp"

using namespace farport::cli;
using farport::fuzz::require;

namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (;;) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

std::string text_of(const RemotePort& port) {
  return port.agent + (port.runtime.empty() ? "" : "/" + port.runtime) + (port.listen ? ",listen" : "");
}

void check_port(const std::string& value) {
  const auto read = parse_remote_port(value);
  if (!read) return require(!read.error().why.empty(), "every error has a cause");
  if (!*read) return;
  require((*read)->agent.find(':') != std::string::npos, "an agent is named with its port");
  const auto again = parse_remote_port(text_of(**read));
  require(again && *again && text_of(**again) == text_of(**read), "a remote port can be written");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::string> arguments = lines_of({reinterpret_cast<const char*>(data), size});
  const auto end =
      static_cast<std::size_t>(std::find(arguments.begin(), arguments.end(), "--") - arguments.begin());
  for (const ToolTarget& target : find_targets(arguments)) {
    require(target.argument < end, "what follows -- is another program's");
    require(arguments[target.argument] == target.prefix + target.value, "a target is where it says");
    check_port(target.value);
  }
  return 0;
}
