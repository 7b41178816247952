// pprof's profile.proto, compressed: `go tool pprof`, Grafana and Parca read it
// (https://github.com/google/pprof/blob/main/proto/profile.proto).
#pragma once

#include "profile/output.hpp"
#include "profile/profile.hpp"

namespace farport::profile {

/// Values: samples/count, and cpu/nanoseconds or wall/nanoseconds. Labels: thread, thread_id, and state,
/// "waiting", of samples that waited. Frames without a name have their address and their module's build id,
/// so that they can be looked up.
void write_pprof(const Profile& profile, Output& out);

}  // namespace farport::profile
