// Finding: the result of a check, for a person.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace farport {

struct Finding {
  enum class Level : std::uint8_t {
    ok,
    warning,
    problem,
    skipped,  ///< It could not be checked, because of an earlier problem.
  };
  Level level = Level::ok;
  std::string text;
  std::string hint{};  ///< What to do about it, as an imperative; may be empty.
};

/// "ok", "warning", "problem" or "skipped".
[[nodiscard]] constexpr std::string_view to_string(Finding::Level level) {
  switch (level) {
    case Finding::Level::ok:
      return "ok";
    case Finding::Level::warning:
      return "warning";
    case Finding::Level::problem:
      return "problem";
    case Finding::Level::skipped:
      break;
  }
  return "skipped";
}

}  // namespace farport
