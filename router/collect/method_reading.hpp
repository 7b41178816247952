// Asks a runtime for the names of methods.
#pragma once

#include <vector>

#include "router/collect/recording.hpp"
#include "router/readers/event_frames.hpp"
#include "router/readers/reader_process.hpp"

namespace farport::router {

/// Has the runtime tell the names of all its methods, which takes it a moment, and a reader find those that
/// are at these addresses, and adds them to `to`. Errors: the runtime does not tell
/// them all, or there is no reader. `readers` must outlive it.
[[nodiscard]] transport::Task<Result<void>> read_methods(SessionManager& sessions, std::string runtime_id,
                                                         const ReaderProcess& readers,
                                                         std::vector<std::uint64_t> addresses,
                                                         NamedMethods& to);

}  // namespace farport::router
