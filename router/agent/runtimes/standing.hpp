// Why the kernel doesn't let one process look into another (ptrace(2), PTRACE_MODE_READ_FSCREDS).
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

#include "base/error.hpp"

namespace farport::router {

/// What the kernel goes by.
struct Standing {
  uid_t user = 0;
  gid_t group = 0;
  std::uint64_t capabilities = 0;  ///< Bit N for number N (linux/capability.h).
  std::string users;               ///< The user namespace, by its map.
  std::string apparmor;            ///< The AppArmor profile; empty: none, or unconfined.
};

/// Of a process; of this one: getpid(). What can't be seen is left empty.
[[nodiscard]] Standing standing_of(pid_t pid);

/// Why `own` may not look into `process`, and what to do about it; `on` names the process. What is the
/// likeliest where nothing of the above forbids it.
[[nodiscard]] Error explain_refusal(const std::string& on, const Standing& own, const Standing& process);

/// Why a process that may look into `process` may not reach a socket of it at `path`, where permissions of
/// files
/// (`error`) forbid it, or where it isn't there.
[[nodiscard]] Error explain_lost_socket(const std::string& on, const std::string& path, int error,
                                        const Standing& own, const Standing& process);

}  // namespace farport::router
