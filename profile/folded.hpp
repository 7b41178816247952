// Folded stacks: a line for each stack, as FlameGraph's scripts and many others read them
// (https://github.com/brendangregg/FlameGraph).
#pragma once

#include "profile/output.hpp"
#include "profile/profile.hpp"

namespace farport::profile {

/// "PROCESS;OUTERMOST;…;INNERMOST SAMPLES", all threads as one. As FlameGraph marks them, managed frames end
/// in _[j], kernel frames in _[k]. Samples that waited have a frame more, "[waiting]".
void write_folded(const Profile& profile, Output& out);

}  // namespace farport::profile
