// Records into a .nettrace file, as it comes.
#pragma once

#include "config/settings.hpp"
#include "events/lines.hpp"
#include "ipc/event_pipe.hpp"

namespace farport::cli {

/// Has the runtime record what is wanted, into a file of the output's name or the runtime's, and prints its
/// path. An event that the filter lets pass ends it; an empty filter has none. Returns the exit code, errors
/// reported.
int record_trace(const config::RecordingSettings& settings, ipc::CollectTracing wanted,
                 const events::EventFilter& stopping_event);

}  // namespace farport::cli
