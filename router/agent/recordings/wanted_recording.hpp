// What a request wants a runtime to record.
#pragma once

#include <memory>
#include <string>

#include "events/line_maker.hpp"
#include "router/wanted/counters.hpp"
#include "router/wire/runtime.hpp"
#include "transport/loop.hpp"

namespace farport::router {

/// The values of a query, by name; empty where there is none.
using Parameters = std::function<std::string(std::string_view name)>;

struct WantedRecording {
  ipc::CollectTracing recording;
  transport::Milliseconds duration{};  ///< At most.
  /// Makes the answer; none: the answer is what the runtime writes.
  std::unique_ptr<events::LineMaker> lines;
  std::string content_type;
};

/// What `kind`, a word of the route, with these parameters is of this runtime. Errors name the parameter that
/// is wrong.
[[nodiscard]] Result<WantedRecording> wanted_recording(std::string_view kind, const Parameters& parameters,
                                                       const Runtime& runtime);

}  // namespace farport::router
