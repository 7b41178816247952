// Samples as `perf script` prints them, for FlameGraph's stackcollapse-perf.pl and, where the file's name
// ends in .data.txt, PerfView.
#pragma once

#include "profile/output.hpp"
#include "profile/profile.hpp"

namespace farport::profile {

/// For each sample, by time, the line "THREAD PID/TID [CPU] SECONDS: NANOSECONDS cpu-clock: ", a line
/// "ADDRESS NAME+0x0 (MODULE)" for each frame, the innermost first, and an empty one. Seconds are since 1970.
/// Samples that waited end in a frame "[waiting]".
///
/// PerfView takes it that a sample lasts until the next of the same processor. So each thread has a number of
/// its own there, and where its samples are not close together, an event "idle" of the process 0 ends the one
/// before, as the kernel's idle process would. FlameGraph leaves events of another name than the first one's
/// out.
void write_perf_script(const Profile& profile, Output& out);

}  // namespace farport::profile
