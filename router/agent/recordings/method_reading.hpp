// The names of a runtime's methods, asked for on behalf of a caller.
#pragma once

#include "events/methods.hpp"
#include "router/agent/recordings/inner_recording.hpp"

namespace farport::router {

/// Has the runtime tell the names of all its methods, which takes it a moment, and adds them to `to`. Errors:
/// the caller may not have it do so, or it does not.
[[nodiscard]] transport::Task<Result<void>> read_methods(transport::Loop& loop,
                                                         DiagnosticConnections& connections,
                                                         const Caller& caller, RuntimePtr runtime,
                                                         events::MethodTable& to);

}  // namespace farport::router
