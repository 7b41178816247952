// Whether the kernel lets a process be sampled, and why not (perf_event_open(2), and the kernel's
// Documentation/admin-guide/perf-security.rst).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

#include "base/error.hpp"

namespace farport::router {

/// What decides it.
struct PerfFacts {
  std::optional<int> paranoid{};   ///< kernel.perf_event_paranoid; none: the kernel has no such events.
  std::uint64_t capabilities = 0;  ///< Ours.
  bool own_filter = false;         ///< Our system calls are filtered.
  bool own_process = false;        ///< It is a process of our user.
};

/// `user`: whose process it would be that is sampled.
[[nodiscard]] PerfFacts look_at_perf(uid_t user);

/// Whether it should be allowed, the kernel's part of stacks left aside.
[[nodiscard]] bool may_sample(const PerfFacts& facts);

/// "kernel.perf_event_paranoid is 2".
[[nodiscard]] std::string describe_paranoia(const PerfFacts& facts);

/// Why the kernel has said no (`error`: an errno value), and the least that would be enough.
[[nodiscard]] Error explain_perf_refusal(const PerfFacts& facts, int error);

/// Why samples have no kernel's part in them, which the kernel has refused.
[[nodiscard]] std::string explain_missing_kernel(const PerfFacts& facts);

}  // namespace farport::router
