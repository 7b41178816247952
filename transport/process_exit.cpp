#include "transport/process_exit.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/process_stat.hpp"
#include "transport/fd_stream.hpp"

namespace farport::transport {

UniqueFd open_pidfd(pid_t pid) {
  if (pid <= 0) return {};
  // Not glibc's wrapper, whose header (2.36) lacks the extern "C" that C++ needs.
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

std::uint64_t start_of(pid_t pid) {
  if (pid <= 0) return 0;
  const auto stat = process_stat(pid);
  return stat ? stat->start_time : 0;
}

bool has_ended(const UniqueFd& pidfd) {
  pollfd readable{pidfd.get(), POLLIN, 0};
  return ::poll(&readable, 1, 0) == 1;
}

Task<void> process_exit(Loop& loop, UniqueFd pidfd) {
  FdStream process(loop, std::move(pidfd), "the process");
  co_await process.readable();
}

}  // namespace farport::transport
