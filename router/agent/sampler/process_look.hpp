// ProcessLook: what is seen of a runtime's process before anything is asked of it.
//
// The agent may have given up the right to look into processes (Landlock forbids it whatever its rules say),
// so its sampler does it. An agent that looked itself would take what it can't see for harmless.
#pragma once

#include <cstdint>
#include <memory>

#include <sys/types.h>

#include "base/unique_fd.hpp"
#include "router/agent/runtimes/createdump.hpp"
#include "router/agent/runtimes/memory_group.hpp"

namespace farport::router {

class SamplerProcess;

/// What an agent asks its sampler for.
struct LookRequest {
  enum class What : std::uint8_t { createdump, memory_group };
  What what = What::createdump;
  pid_t process = 0;
  uid_t user = 0;       ///< The process's user, with whose rights its files are opened.
  bool native = false;  ///< Runtime::native.
};

/// Looks, and sends what it has seen through the socket `to`. Gives up rights, so it must be called in a
/// process of its own.
void look_at_process(const LookRequest& request, const UniqueFd& to);

/// The createdump of a process, as find_createdump() finds it. `sampler` may be null. Blocks for as long as
/// the process's file systems like; after two seconds it is unknown.
[[nodiscard]] Createdump look_for_createdump(const SamplerProcess* sampler, pid_t pid, uid_t user,
                                             bool native);

/// Has the sampler open the files of control groups; within two seconds. `sampler` may be null.
[[nodiscard]] OwnGroupOpener own_group_opener(std::shared_ptr<const SamplerProcess> sampler);

}  // namespace farport::router
