#include "cli/commands/splice.hpp"

#include <cerrno>
#include <cstddef>
#include <span>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/output_file.hpp"

namespace farport::cli {
namespace {

constexpr std::size_t kAtOnce = 256 * 1024;

/// Whether an operation is to be tried again, after waiting where the descriptors don't wait themselves.
bool again(int from, int to) {
  if (errno == EINTR) return true;
  if (errno != EAGAIN) return false;
  // Either may be what it waits for: both are asked in turn.
  pollfd readable{from, POLLIN, 0};
  if (::poll(&readable, 1, -1) < 0) return errno == EINTR;
  pollfd writable{to, POLLOUT, 0};
  return ::poll(&writable, 1, -1) >= 0 || errno == EINTR;
}

bool copy_through_memory(int from, int to) {
  std::vector<std::byte> buffer(kAtOnce);
  for (;;) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got == 0) return true;
    if (got < 0 && !again(from, to)) return false;
    if (got > 0 && write_whole(to, std::span(buffer).first(static_cast<std::size_t>(got))) != 0) return false;
  }
}

}  // namespace

bool copy_all(int from, int to) {
  for (;;) {
    const ssize_t moved = ::splice(from, nullptr, to, nullptr, kAtOnce, SPLICE_F_MOVE);
    if (moved == 0) return true;
    if (moved > 0) continue;
    // splice(2): neither is a pipe, or one of them is none that it knows.
    if (errno == EINVAL) return copy_through_memory(from, to);
    if (!again(from, to)) return false;
  }
}

}  // namespace farport::cli
