// The names of a runtime's methods, for a reader that makes a profile.
#pragma once

#include "router/agent/recordings/inner_recording.hpp"
#include "router/readers/reading.hpp"

namespace farport::router {

/// Has the runtime tell the names of all its methods, which takes it a moment, and passes them on, as far as
/// they come. `recording`: one that has not begun.
[[nodiscard]] transport::Task<void> pass_methods_on(transport::Loop& loop, InnerRecording& recording,
                                                    Reading& to);

}  // namespace farport::router
