// Whether the kernel lets a runtime's process be profiled (perf_event_open(2)).
#pragma once

#include <optional>

#include <sys/types.h>

#include "router/agent/doctor/verdict.hpp"
#include "router/agent/sampler/perf_permission.hpp"

namespace farport::router {

/// What decides it.
struct ProfileFacts : PerfFacts {
  std::optional<int> tried{};  ///< What came of a try: 0, or an errno value. None: it was not tried.
};

/// Opens a counter on the process and closes it at once, unless our confinement has no such system call.
[[nodiscard]] ProfileFacts look_at_profile(pid_t pid, uid_t user, const OwnConfinement& own);

/// What holds where the process that takes profiles does not run.
[[nodiscard]] Verdict no_sampler(const std::string& name);

/// What follows from that. `name`: the runtime's.
[[nodiscard]] Verdict judge_profile(const ProfileFacts& facts, const std::string& name);

}  // namespace farport::router
