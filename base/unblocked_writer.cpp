#include "base/unblocked_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string>

#include <poll.h>
#include <unistd.h>

namespace farport {

bool UnblockedWriter::takes_more(int fd) const {
  // poll(2) passes over what is no descriptor; the write says so.
  if (full_ == When::wait || fd < 0) return true;
  // pipe(7): one that is ready takes PIPE_BUF bytes. Files always are, and so are broken descriptors, whose
  // write fails.
  pollfd ready{fd, POLLOUT, 0};
  return ::poll(&ready, 1, 0) != 0;
}

int UnblockedWriter::write(int fd, std::string_view lines) {
  std::string mended;
  if (cut_ && !lines.empty()) {
    // A reader by lines loses the one that was cut off, and not the next as well.
    mended = "\n" + std::string(lines);
    lines = mended;
  }
  int error = 0;
  while (!lines.empty() && error == 0 && takes_more(fd)) {
    const std::size_t part =
        full_ == When::wait ? lines.size() : std::min<std::size_t>(lines.size(), PIPE_BUF);
    const ssize_t written = ::write(fd, lines.data(), part);
    if (written < 0) {
      error = errno == EINTR ? 0 : errno;
      continue;
    }
    cut_ = written > 0 && lines[static_cast<std::size_t>(written) - 1] != '\n';
    lines.remove_prefix(static_cast<std::size_t>(written));
  }
  lost_ += static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
  // A terminal in another program's hands may be set not to block: nothing is wrong with it.
  return error == EAGAIN ? 0 : error;
}

}  // namespace farport
