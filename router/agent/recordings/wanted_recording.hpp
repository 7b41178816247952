// What a request wants a runtime to record.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ipc/event_pipe.hpp"
#include "router/readers/reader_process.hpp"
#include "router/wire/runtime.hpp"
#include "transport/loop.hpp"

namespace farport::router {

/// The values of a query, by name; empty where there is none.
using Parameters = std::function<std::string(std::string_view name)>;

struct WantedRecording {
  ipc::CollectTracing recording;
  transport::Milliseconds duration{};  ///< At most.
  /// What a reader makes the answer of it by; none: the answer is what the runtime writes.
  std::optional<ReadingRequest> reading;
  std::string content_type;
};

/// What `kind`, a word of the route, with these parameters is of this runtime. Errors name the parameter that
/// is wrong.
[[nodiscard]] Result<WantedRecording> wanted_recording(std::string_view kind, const Parameters& parameters,
                                                       const Runtime& runtime);

}  // namespace farport::router
