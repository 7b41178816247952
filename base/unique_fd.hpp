// An owned file descriptor.
#pragma once

#include <cerrno>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include "base/error.hpp"

namespace farport {

/// Owns a file descriptor and closes it when destroyed; -1 means none.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }
  /// Gives the descriptor to the caller, who closes it.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

/// The ends of a pipe.
struct Pipe {
  UniqueFd reading;
  UniqueFd writing;
};

/// Makes a pipe (pipe2(2)) with these flags.
[[nodiscard]] inline Result<Pipe> make_pipe(int flags) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, flags) != 0) return fail_errno("make", "a pipe", errno);
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

/// Two connected sockets.
struct SocketPair {
  UniqueFd ours;
  UniqueFd theirs;
};

/// Makes a pair of Unix sockets (socketpair(2)) of this type, which close on exec.
[[nodiscard]] inline Result<SocketPair> make_socket_pair(int type) {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail_errno("make", "a pair of sockets", errno);
  }
  return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace farport
