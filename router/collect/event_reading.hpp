// Reads what a runtime records while it comes.
#pragma once

#include "events/methods.hpp"
#include "router/collect/recording.hpp"

namespace farport::router {

/// Has the runtime tell the names of all its methods, which takes it a moment, and adds them to `to`.
/// Errors: it does not.
[[nodiscard]] transport::Task<Result<void>> read_methods(SessionManager& sessions, std::string runtime_id,
                                                         events::MethodTable& to);

}  // namespace farport::router
