// The libraries and assemblies of a runtime's process, which a debugger needs to read a dump of it.
#pragma once

#include <cstdint>

#include <sys/types.h>

#include "base/unique_fd.hpp"

namespace farport::router {

/// What an agent asks its sampler for.
struct ModulesRequest {
  pid_t process = 0;
  uid_t user = 0;    ///< The process's user, with whose rights the files are read.
  bool all = false;  ///< All that the process has mapped; otherwise only what explains the runtime's memory.
};

/// Follows the archive if all of it is there.
inline constexpr char kArchiveIsWhole = 'w';

/// Writes to `to` first a byte: kSampling, followed by a tar archive with libmscordaccore.so,
/// libmscordbi.so if that is there, and with `all` what is mapped, and kArchiveIsWhole; or kRefused, followed
/// by an error's why, a zero byte and its hint. Ends at once if nobody reads `to` any more. `process` is a
/// pidfd, which identifies the process for sure. Gives up rights, so it must be called in a process of its
/// own.
void send_modules(const ModulesRequest& request, const UniqueFd& process, const UniqueFd& to);

}  // namespace farport::router
