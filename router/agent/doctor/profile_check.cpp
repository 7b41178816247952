#include "router/agent/doctor/profile_check.hpp"

#include <cerrno>

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/unique_fd.hpp"

namespace farport::router {
namespace {

using Level = Finding::Level;

constexpr const char* kNotNeeded = "dotnet-trace's own sampling doesn't need it";

/// Of time spent by the process itself: what needs the least rights. Returns 0 or an errno value.
int try_counter(pid_t pid) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  constexpr int kAnyProcessor = -1;
  constexpr int kNoGroup = -1;
  const UniqueFd counter(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, pid, kAnyProcessor, kNoGroup, PERF_FLAG_FD_CLOEXEC)));
  return counter ? 0 : errno;
}

Verdict possible(const std::string& name, const std::string& how) {
  return {{Level::ok, name + " can be profiled by the kernel" + how}, "can be profiled by the kernel"};
}

Verdict impossible(const std::string& name, const std::string& why, const std::string& hint) {
  return {{Level::warning, name + " can't be profiled by the kernel: " + why, hint + "; " + kNotNeeded},
          "can't be profiled by the kernel"};
}

/// What would come of a try.
Verdict foretold(const ProfileFacts& facts, const std::string& name) {
  const std::string untried =
      " (" + describe_paranoia(facts) + "; not tried: the agent's own filter of system calls forbids it)";
  if (may_sample(facts)) return possible(name, untried);
  const Error refused = explain_perf_refusal(facts, EACCES);
  return impossible(name, refused.why, refused.hint);
}

}  // namespace

ProfileFacts look_at_profile(pid_t pid, uid_t user, const OwnConfinement& own) {
  ProfileFacts facts{look_at_perf(user)};
  if (!own.system_calls && facts.paranoid && pid > 0) facts.tried = try_counter(pid);
  return facts;
}

Verdict no_sampler(const std::string& name) {
  return impossible(name, "the agent's process that takes profiles has ended", "start the agent again");
}

Verdict judge_profile(const ProfileFacts& facts, const std::string& name) {
  if (facts.paranoid && !facts.tried) return foretold(facts, name);
  if (facts.tried == 0) return possible(name, "");
  const Error refused = explain_perf_refusal(facts, facts.tried.value_or(ENOSYS));
  return impossible(name, refused.why, refused.hint);
}

}  // namespace farport::router
