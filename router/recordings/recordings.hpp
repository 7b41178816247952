// What a runtime is asked to record for each of the things that people look at.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "ipc/event_pipe.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {

/// The major version: 10 for "10.0.1"; 0 if the text is no version.
[[nodiscard]] int major_of(std::string_view version);

/// Splits at commas, and keeps empty parts. `inside` is called with each character in turn. It returns true
/// where a comma is not a separator.
[[nodiscard]] std::vector<std::string> split_list(std::string_view list,
                                                  const std::function<bool(char)>& inside);

/// The counters of an EventSource, at this interval.
[[nodiscard]] ipc::Provider event_counters(std::string name, std::chrono::milliseconds interval);

/// LoggingEventSource's keyword for entries as they are formatted, which costs less than their arguments.
inline constexpr std::uint64_t kFormattedMessages = 0x4;

/// Has a runtime that can do so leave out the stacks of events. `version` is the runtime's.
void leave_out_stacks(ipc::CollectTracing& wanted, std::string_view version);

/// Exceptions when they are thrown, with their stacks.
[[nodiscard]] ipc::CollectTracing wanted_exceptions();

/// Has a recording of exceptions also have the names of methods that the runtime compiles from now on.
/// `version` is the runtime's.
void add_compiled_methods(ipc::CollectTracing& exceptions, std::string_view version);

/// The stack of each thread, some hundred times a second, and at the end the names of all methods.
[[nodiscard]] ipc::CollectTracing wanted_samples();

/// How long to sample to see what each thread is doing. Each thread is in several of the samples.
inline constexpr std::chrono::milliseconds kStacksTime{200};

/// No events, and at the end the names of all methods.
[[nodiscard]] ipc::CollectTracing wanted_methods();

/// The same without lines of code, as far as the runtime can leave them out. `version` is the runtime's.
[[nodiscard]] ipc::CollectTracing wanted_method_names(std::string_view version);

/// What tells most of an incident and costs the application next to nothing, for as long as it runs:
/// collections, exceptions, contention, the thread pool, counters, and logs from warnings on. `version` is
/// the runtime's.
[[nodiscard]] ipc::CollectTracing wanted_recent(std::string_view version);

/// How often in a second the recorder samples each thread that is on a processor. It is odd, so that it
/// hardly ever keeps step with what a timer does.
inline constexpr std::uint32_t kRecentFrequency = 19;

/// The names of methods that the runtime compiles, or first uses, from now on. `version` is the runtime's.
[[nodiscard]] ipc::CollectTracing wanted_loads(std::string_view version);

/// A collection at once and all objects that survive it, and at the end the names of modules. Fails for a
/// runtime that never reports them.
[[nodiscard]] Result<ipc::CollectTracing> wanted_heap(const Runtime& runtime);

/// Whether a session asks the runtime to name types, as one of a heap does.
[[nodiscard]] bool asks_for_types(const ipc::CollectTracing& session);
/// Whether it has the runtime report its heap.
[[nodiscard]] bool asks_for_heap(const ipc::CollectTracing& session);
/// The smallest session of the runtime's provider that asks for no names of types.
[[nodiscard]] ipc::CollectTracing wanted_without_types();

/// Log entries at `level` (a word of events::kLogLevels, in any case) and above, in these categories
/// ("Orders.*", or "Orders.*:Debug" with a level of its own). With neither, those that the application's own
/// filters let pass. Errors: an unknown level or a malformed category.
[[nodiscard]] Result<ipc::CollectTracing> wanted_logs(std::string_view level,
                                                      const std::vector<std::string>& categories);

}  // namespace farport::router
