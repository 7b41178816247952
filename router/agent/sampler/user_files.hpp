// UserFiles: files of another process, opened with no more rights than its user has.
#pragma once

#include <string>

#include <sys/types.h>

#include "base/unique_fd.hpp"
#include "router/agent/runtimes/process_root.hpp"

namespace farport::router {

/// Has the kernel end this process a minute from now, unless this is called again or alarm(0) before
/// (alarm(2)). Reading a process's memory and files may take for ever, as they may be on another machine or
/// served by the process's user.
void end_if_stuck();

/// The process chooses where its paths lead, and must not reach more through this one than it could open
/// itself.
class UserFiles {
 public:
  /// Gives up all rights but those of `user`, the process's, as far as this process may become that user.
  /// Make one in a process of its own. `root` must outlive it.
  UserFiles(ProcessRoot& root, uid_t user);

  /// Opens a regular file at a path in that root. If the result is empty, `why` says why.
  [[nodiscard]] UniqueFd open(const std::string& path, std::string& why) const;

 private:
  [[nodiscard]] UniqueFd open_checked(const std::string& path, std::string& why) const;

  const ProcessRoot& root_;
  uid_t user_;
  bool is_user_;  ///< Otherwise this is root, which checks the files' permissions by itself.
};

}  // namespace farport::router
