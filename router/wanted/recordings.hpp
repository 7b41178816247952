// What a runtime is asked to record for each of the things that people look at.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "ipc/event_pipe.hpp"

namespace farport::router {

/// What can be asked of a runtime depends on its version.
/// 10 of "10.0.1"; 0 where it is no version.
[[nodiscard]] int major_of(std::string_view version);

/// Lists as people write them: with commas.
/// What stands between commas, empty parts included. `inside` is told each character in turn, and says
/// whether a comma there is none of the list's.
[[nodiscard]] std::vector<std::string> split_list(std::string_view list,
                                                  const std::function<bool(char)>& inside);

/// Exceptions as they are thrown, with their stacks.
[[nodiscard]] ipc::CollectTracing wanted_exceptions();

/// What each thread does, some hundred times a second, and at the end the names of all methods.
[[nodiscard]] ipc::CollectTracing wanted_samples();

/// How long samples are taken to see what each thread is doing: each is in several of them.
inline constexpr std::chrono::milliseconds kStacksTime{200};

/// As good as nothing, and at the end the names of all methods.
[[nodiscard]] ipc::CollectTracing wanted_methods();

/// A collection at once, and all that survives it; at the end the names of modules. `version`: the
/// runtime's.
[[nodiscard]] ipc::CollectTracing wanted_heap(std::string_view version);

/// What is written to the log: at `level` (a word of events::kLogLevels, in any case) and above, of the
/// categories ("Orders.*", or "Orders.*:Debug" with a level of its own). Without any of both, what the
/// application's own filters let pass. Errors: a level that is none.
[[nodiscard]] Result<ipc::CollectTracing> wanted_logs(std::string_view level,
                                                      const std::vector<std::string>& categories);

}  // namespace farport::router
