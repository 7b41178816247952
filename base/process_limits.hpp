// Limits of what this process may use (setrlimit(2)), and how long it may live, for good.
#pragma once

#include <cstdint>

#include <sys/types.h>

namespace farport {

/// So many seconds of processor time; then the kernel ends it.
void limit_processor_time(std::uint32_t seconds);

/// So much memory of its own beside what it has now; then there is none to be had (std::bad_alloc). The
/// sanitizers take more than any limit: with them there is none. `for_children`: so much more may a process
/// have that this one forks, where it is limited in turn.
void limit_memory(std::uint64_t more_bytes, std::uint64_t for_children = 0);

/// Where the memory of a control group is used up the kernel ends this process, or one that it starts, before
/// others there: the one of them that has most (proc(5), /proc/PID/oom_score_adj).
void be_ended_first();

/// The kernel kills this process when its parent ends, and it ends now if `parent` is not its parent any
/// more. To be called again after a change of user (prctl(2), PR_SET_PDEATHSIG).
void end_with(pid_t parent);

}  // namespace farport
