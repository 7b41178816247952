#include "router/agent/sampler/sample_output.hpp"

#include <cerrno>
#include <tuple>

#include <poll.h>
#include <unistd.h>

namespace farport::router {

bool SampleOutput::full() const {
  return pending_.size() > most_;
}

void SampleOutput::write(std::string_view bytes) {
  pending_ += bytes;
  write_pending();
}

void SampleOutput::write_pending() {
  while (!pending_.empty() && !broken_) {
    const ssize_t written = ::write(fd_, pending_.data(), pending_.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return;
    if (written < 0) broken_ = true;
    if (written > 0) pending_.erase(0, static_cast<std::size_t>(written));
  }
}

void SampleOutput::finish() {
  while (!pending_.empty() && !broken_) {
    pollfd writable{fd_, POLLOUT, 0};
    constexpr int kForEver = -1;
    std::ignore = ::poll(&writable, 1, kForEver);
    write_pending();
  }
}

}  // namespace farport::router
