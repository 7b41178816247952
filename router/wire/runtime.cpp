#include "router/wire/runtime.hpp"

#include <ctime>

namespace farport::router {

std::string_view to_string(RuntimeState state) {
  return state == RuntimeState::suspended ? "suspended" : "running";
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[sizeof "2026-01-01T00:00:00Z"];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string_view to_string(RuntimeEvent::Kind kind) {
  switch (kind) {
    case RuntimeEvent::Kind::added:
      return "added";
    case RuntimeEvent::Kind::changed:
      return "changed";
    case RuntimeEvent::Kind::removed:
      return "removed";
    case RuntimeEvent::Kind::listed:
      break;
  }
  return "listed";
}

}  // namespace farport::router
