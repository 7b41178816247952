// The file system of another process, by /proc/PID/root. Whoever runs there decides what is in it: nothing
// leads out of it, and opening something may take as long as its file systems like.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace farport::router {

class ProcessRoot {
 public:
  /// Of the process that has this pid now: what is read through this is of that process, and of no later one
  /// with its pid. Errors: the system's (`cause`), EACCES where the process may not be looked into.
  [[nodiscard]] static Result<ProcessRoot> open(pid_t pid);

  /// Whether the process is in the namespace of this kind ("mnt", "user") that we are in. None where that
  /// can't be seen.
  [[nodiscard]] std::optional<bool> shares(const std::string& kind) const;
  /// Whether it sees the files that we see, at the same paths.
  [[nodiscard]] bool is_ours() const;

  /// Opens something by its path there, with or without the slash it begins with; `resolve` as in openat2(2),
  /// which should keep it beneath. None: errno says why.
  [[nodiscard]] UniqueFd open_beneath(const std::string& path, int flags, std::uint64_t resolve) const;

  /// Makes it the root of this process, for good: open_beneath() opens all there is from then on. Errors: the
  /// system's.
  [[nodiscard]] Result<void> enter();

  /// /proc/PID, open.
  [[nodiscard]] int process() const { return process_.get(); }

 private:
  ProcessRoot(UniqueFd process, UniqueFd root) : process_(std::move(process)), root_(std::move(root)) {}

  UniqueFd process_;
  UniqueFd root_;
  bool entered_ = false;
};

// Why the kernel doesn't let one process look into another (ptrace(2), PTRACE_MODE_READ_FSCREDS).

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
