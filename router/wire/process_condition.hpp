// What the kernel knows of a runtime's process: for those who wait for its answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {

struct ProcessCondition {
  Halt halt = Halt::none;     ///< Stopped or frozen.
  bool traced = false;        ///< A debugger holds it.
  bool ending = false;        ///< It is on its way out.
  std::uint32_t threads = 0;  ///< 0: the process isn't visible to the agent.
  std::uint32_t running = 0;  ///< Of them, those that run, or could.
  std::uint32_t in_disk = 0;  ///< Those that wait for a disk, or for memory, and can't be interrupted.
  double cores = 0;           ///< How many processors all of them have kept busy, just now.
  std::uint64_t memory = 0;   ///< What it holds, in bytes; 0: not known.

  /// Whether it gets on with something, however slowly.
  [[nodiscard]] bool is_busy() const;
};

/// What it looks like, for people: "its process is stopped, by a signal", with what to do as the hint.
struct ConditionWords {
  std::string text;
  std::string hint;  ///< May be empty.
};
[[nodiscard]] ConditionWords describe(const ProcessCondition& condition, const Runtime& runtime);

/// {"halt":…,"traced":…,"ending":…,"threads":…,"running":…,"in_disk":…,"cores":…,"memory":…}
[[nodiscard]] std::string to_json(const ProcessCondition& condition);
[[nodiscard]] Result<ProcessCondition> process_condition_from_json(std::string_view text);

}  // namespace farport::router
