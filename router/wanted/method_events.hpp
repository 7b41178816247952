// Reads the names of methods out of what a runtime records.
#pragma once

#include "events/methods.hpp"
#include "transport/stream.hpp"

namespace farport::router {

/// Adds all that is told of methods up to the stream's end. Errors: the stream's, and one that is none of
/// events.
[[nodiscard]] transport::Task<Result<void>> read_method_events(transport::Stream& from,
                                                               events::MethodTable& to);

}  // namespace farport::router
