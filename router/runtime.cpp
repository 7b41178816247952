#include "router/runtime.hpp"

#include <ctime>

#include <fnmatch.h>

namespace farport::router {
namespace {

bool has_wildcard(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

bool glob(const std::string& pattern, const std::string& text) {
  return fnmatch(pattern.c_str(), text.c_str(), FNM_CASEFOLD) == 0;
}

}  // namespace

std::string_view to_string(RuntimeState state) {
  return state == RuntimeState::suspended ? "suspended" : "running";
}

bool names_runtime(std::string_view wanted, const Runtime& runtime) {
  const std::string text(wanted);
  // Without wildcards this is a comparison without regard to case.
  if (has_wildcard(wanted)) {
    return glob(text, runtime.name) ||
           glob(text, runtime.command_line.substr(0, runtime.command_line.find(' ')));
  }
  return text == std::to_string(runtime.pid) || glob(text, runtime.id) || glob(text, runtime.name);
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[sizeof "2026-01-01T00:00:00Z"];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace farport::router
