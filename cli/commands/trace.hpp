// Recording to a .nettrace file.
#pragma once

#include "config/settings.hpp"
#include "events/lines.hpp"
#include "ipc/event_pipe.hpp"

namespace farport::cli {

/// Makes the runtime record `wanted` to a file named by the output setting or after the runtime, and prints
/// its path. An event that matches the filter ends the recording; an empty filter matches none. Reports
/// errors and returns the exit code.
int record_trace(const config::RecordingSettings& settings, ipc::CollectTracing wanted,
                 const events::EventFilter& stopping_event);

}  // namespace farport::cli
