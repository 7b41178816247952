// ProcessRoot: the file system of another process, by /proc/PID/root, and why the kernel may refuse it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace farport::router {

/// The file system of another process. Whoever runs there decides what is in it, so opening something may
/// take as long as its file systems like.
class ProcessRoot {
 public:
  /// Opens the root of the process that has this pid now; nothing of a later process with this pid is ever
  /// read. Errors: the system's (`cause`); EACCES if the process may not be examined.
  [[nodiscard]] static Result<ProcessRoot> open(pid_t pid);

  /// Whether the process is in the same namespace of this kind ("mnt", "user") as this one. Nothing if that
  /// can't be read.
  [[nodiscard]] std::optional<bool> shares(const std::string& kind) const;
  /// Whether the process sees the same files as this one at the same paths.
  [[nodiscard]] bool is_ours() const;

  /// Opens a path in that root, with or without its leading slash. `resolve` is as in openat2(2), and should
  /// keep the path beneath the root. If the result is empty, errno says why.
  [[nodiscard]] UniqueFd open_beneath(const std::string& path, int flags, std::uint64_t resolve) const;

  /// A path by which this process reaches what open_beneath() has opened at `path`.
  [[nodiscard]] std::string path_of(int file, const std::string& path) const;

  /// The directory of the process's program; empty if that can't be read.
  [[nodiscard]] std::string program_directory() const;

  /// Makes it the root of this process, for good. From then on open_beneath() ignores `resolve`. Errors: the
  /// system's.
  [[nodiscard]] Result<void> enter();

  /// An open descriptor of /proc/PID.
  [[nodiscard]] int process() const { return process_.get(); }

 private:
  ProcessRoot(UniqueFd process, UniqueFd root) : process_(std::move(process)), root_(std::move(root)) {}

  UniqueFd process_;
  UniqueFd root_;
  bool entered_ = false;
};

/// What the kernel compares when one process looks into another (ptrace(2), PTRACE_MODE_READ_FSCREDS).
struct ProcessCredentials {
  uid_t user = 0;
  gid_t group = 0;
  std::uint64_t capabilities = 0;  ///< Bit N is capability N (linux/capability.h).
  std::string users;               ///< The user namespace's uid_map.
  std::string apparmor;            ///< The AppArmor profile; empty if there is none, or unconfined.
};

/// The credentials of a process. What can't be read is left empty.
[[nodiscard]] ProcessCredentials credentials_of(pid_t pid);

/// Why `own` may not look into `process`, and what to do about it. `on` names the process. Gives the
/// likeliest reason if none of the above applies.
[[nodiscard]] Error explain_refusal(const std::string& on, const ProcessCredentials& own,
                                    const ProcessCredentials& process);

/// Why farport can't reach the socket at `path` of a process that it may look into. `error` is an errno
/// value: file permissions forbid it, or the socket isn't there.
[[nodiscard]] Error explain_lost_socket(const std::string& on, const std::string& path, int error,
                                        const ProcessCredentials& own, const ProcessCredentials& process);

}  // namespace farport::router
