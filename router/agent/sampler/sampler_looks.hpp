// Looks at a runtime's process before anything is asked of it, by the agent's sampler.
//
// The agent may have given up the right to look into processes (Landlock forbids it whatever its rules say).
// If it looked itself, it would take what it can't see for harmless.
#pragma once

#include <memory>

#include <sys/types.h>

#include "base/error.hpp"
#include "router/agent/runtimes/createdump.hpp"
#include "router/agent/runtimes/memory_group.hpp"
#include "router/agent/sampler/perf_counters.hpp"
#include "router/agent/sampler/sampler_process.hpp"

namespace farport::router {

/// The createdump of a process, as find_createdump() finds it. `sampler` may be null. Blocks for as long as
/// the process's file systems like; after two seconds it is unknown.
[[nodiscard]] Createdump look_for_createdump(const SamplerProcess* sampler, pid_t pid, uid_t user,
                                             bool native);

/// Has the sampler try whether it may sample the process. Errors: there is no sampler, or it can't look.
[[nodiscard]] Result<SamplingTry> look_whether_sampled(const SamplerProcess* sampler, pid_t pid, uid_t user);

/// Has the sampler open the files of control groups; within two seconds. `sampler` may be null.
[[nodiscard]] OwnGroupOpener own_group_opener(std::shared_ptr<const SamplerProcess> sampler);

}  // namespace farport::router
