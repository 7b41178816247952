#include "router/agent/sampler/perf_permission.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <linux/capability.h>
#include <unistd.h>

#include "base/read_file.hpp"
#include "base/process_stat.hpp"

namespace farport::router {
namespace {

/// From this one on only who has a capability may count anything (Debian's kernels have it).
constexpr int kCapableOnly = 3;
constexpr const char* kLeast =
    "give farport CAP_PERFMON, or set kernel.perf_event_paranoid to 2 and run it as the application's user";

bool has(const PerfFacts& facts, int capability) {
  return (facts.capabilities >> static_cast<unsigned>(capability) & 1U) != 0;
}

bool may_sample_all(const PerfFacts& facts) {
#ifdef CAP_PERFMON
  if (has(facts, CAP_PERFMON)) return true;
#endif
  return has(facts, CAP_SYS_ADMIN);
}

Error refused(int error, std::string why, std::string hint) {
  return {"have the kernel sample", "it", std::move(why), std::move(hint), error};
}

}  // namespace

PerfFacts look_at_perf(uid_t user) {
  PerfFacts facts;
  if (const auto text = read_limited("/proc/sys/kernel/perf_event_paranoid", 16)) {
    facts.paranoid = std::atoi(text->c_str());
  }
  if (const auto status = process_status(::getpid())) {
    facts.capabilities = status->capabilities;
    facts.own_filter = status->filtered;
  }
  facts.own_process = user == ::geteuid();
  return facts;
}

bool may_sample(const PerfFacts& facts) {
  return may_sample_all(facts) ||
         (facts.paranoid < kCapableOnly && (facts.own_process || has(facts, CAP_SYS_PTRACE)));
}

std::string describe_paranoia(const PerfFacts& facts) {
  return "kernel.perf_event_paranoid is " + std::to_string(facts.paranoid.value_or(0));
}

Error explain_perf_refusal(const PerfFacts& facts, int error) {
  if (!facts.paranoid) {
    return refused(error, "this kernel has no performance events", "it takes one with CONFIG_PERF_EVENTS");
  }
  switch (error) {
    case ENOSYS:
      return refused(error,
                     facts.own_filter ? "a filter of system calls hides perf_event_open(2)"
                                      : "this kernel has no perf_event_open(2)",
                     "let the container's seccomp profile allow it");
    case EPERM:
      if (facts.own_filter) {
        return refused(error, "the container's seccomp profile forbids perf_event_open(2)",
                       "let the profile allow it, or give the container CAP_PERFMON");
      }
      [[fallthrough]];
    case EACCES:
      return refused(error,
                     describe_paranoia(facts) + (facts.own_process ? ", and farport has no CAP_PERFMON"
                                                                   : ", and it is another user's process"),
                     kLeast);
    case EMFILE:
      return refused(error,
                     "it has so many threads, on so many processors, that farport runs out of descriptors",
                     "raise the limit of open files that farport is started with");
    case EINVAL:
      return refused(error, "the kernel takes no samples in this way",
                     "ask for fewer samples a second: kernel.perf_event_max_sample_rate limits them");
    default:
      return refused(error, std::strerror(error), "try again: has the process ended?");
  }
}

std::string explain_missing_kernel(const PerfFacts& facts) {
  return "stacks end where they enter the kernel: " + describe_paranoia(facts) +
         ", and farport has no CAP_PERFMON";
}

}  // namespace farport::router
