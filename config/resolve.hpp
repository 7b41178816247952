// From flags, environment and file to settings: flags win over the environment, the environment over the
// file.
#pragma once

#include <string_view>

#include "config/file.hpp"
#include "config/flags.hpp"

namespace farport::config {

/// Each takes flags that the environment has already filled up, reads the file that they name (or, but for
/// serve, the user's own where there is one) and checks that the whole makes sense.
[[nodiscard]] Resolved<ServeSettings> resolve_serve(const Flags& flags);
[[nodiscard]] Resolved<ConnectSettings> resolve_connect(const Flags& flags);
[[nodiscard]] Resolved<PsSettings> resolve_ps(const Flags& flags);
[[nodiscard]] Resolved<DoctorSettings> resolve_doctor(const Flags& flags);
[[nodiscard]] Resolved<CanISettings> resolve_can_i(const Flags& flags);
[[nodiscard]] Resolved<DumpCommandSettings> resolve_dump(const Flags& flags);
[[nodiscard]] Resolved<TraceSettings> resolve_trace(const Flags& flags);
[[nodiscard]] Resolved<CountersSettings> resolve_counters(const Flags& flags);
[[nodiscard]] Resolved<TopSettings> resolve_top(const Flags& flags);
[[nodiscard]] Resolved<LogsSettings> resolve_logs(const Flags& flags);
/// Of `exceptions` and `stacks`, which have no settings of their own.
[[nodiscard]] Resolved<RecordingSettings> resolve_recording(const Flags& flags, std::string_view command);
[[nodiscard]] Resolved<ProfileSettings> resolve_profile(const Flags& flags);
[[nodiscard]] Resolved<GcdumpSettings> resolve_gcdump(const Flags& flags);
[[nodiscard]] Resolved<RunSettings> resolve_run(const Flags& flags);

}  // namespace farport::config
