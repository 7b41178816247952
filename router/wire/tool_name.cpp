#include "router/wire/tool_name.hpp"

#include <string_view>

namespace farport::router {
namespace {

/// TASK_COMM_LEN, without the byte that ends it.
constexpr std::size_t kKeptByKernel = 15;

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::string tool_name(const Runtime& runtime) {
  const std::string_view kept = std::string_view(runtime.name).substr(0, kKeptByKernel);
  std::string_view rest = runtime.command_line;
  for (int word = 0; word < 2; ++word) {
    const std::size_t space = rest.find(' ');
    const std::string_view file = file_name(rest.substr(0, space));
    if (file.starts_with(kept)) return std::string(file);
    if (space == std::string_view::npos) break;
    rest.remove_prefix(space + 1);
  }
  return std::string(kept);
}

std::string program_name(const Runtime& runtime) {
  const std::string_view line = runtime.command_line;
  return std::string(file_name(line.substr(0, line.find(' '))));
}

}  // namespace farport::router
