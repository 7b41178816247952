#include "router/wire/runtime.hpp"

#include <ctime>

namespace farport::router {

std::string_view to_string(RuntimeState state) {
  return state == RuntimeState::suspended ? "suspended" : "running";
}

std::string_view to_string(Halt halt) {
  switch (halt) {
    case Halt::stopped:
      return "stopped";
    case Halt::frozen:
      return "frozen";
    case Halt::silent:
      return "silent";
    case Halt::none:
      break;
  }
  return "";
}

Halt halt_named(std::string_view name) {
  for (const Halt halt : {Halt::stopped, Halt::frozen, Halt::silent}) {
    if (name == to_string(halt)) return halt;
  }
  return Halt::none;
}

std::string_view condition_of(const Runtime& runtime) {
  return runtime.halt == Halt::none ? to_string(runtime.state) : to_string(runtime.halt);
}

Error is_suspended(const Runtime& runtime) {
  return {"record",
          runtime.name,
          "it is suspended at its start",
          "farport trace and dotnet-trace have it go on, and record its start",
          {}};
}

std::string utc_text(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
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
