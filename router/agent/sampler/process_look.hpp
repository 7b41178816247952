// What an agent's sampler sees of a runtime's process, and how it says that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/resources.hpp"
#include "base/unique_fd.hpp"
#include "router/agent/runtimes/createdump.hpp"
#include "router/agent/sampler/perf_counters.hpp"

namespace farport::router {

/// What an agent asks its sampler for.
struct LookRequest {
  enum class What : std::uint8_t { createdump, memory_group, sampling };
  What what = What::createdump;
  pid_t process = 0;
  uid_t user = 0;       ///< The process's user, with whose rights its files are opened.
  bool native = false;  ///< Runtime::native.
};

/// Looks, and sends what it has seen through the socket `to`. Gives up rights, so it must be called in a
/// process of its own.
void look_at_process(const LookRequest& request, const UniqueFd& to);

/// What look_at_process() has sent.
struct Seen {
  std::string bytes;
  std::vector<UniqueFd> descriptors;
};

/// Decode an answer to a request of this kind. Nothing if it is malformed.
[[nodiscard]] std::optional<Createdump> createdump_in(const Seen& seen);
[[nodiscard]] std::optional<MemoryGroupFiles> memory_group_in(Seen seen);
[[nodiscard]] std::optional<SamplingTry> sampling_in(const Seen& seen);

}  // namespace farport::router
