#include "transport/fd_stream.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace farport::transport {
namespace {

/// Most bytes that the peer may have unread in the kernel because of us. Each may be a write of its own, and
/// a write of one byte counts as some 770 bytes of the 208 KiB that a Unix socket may have in flight. poll(2)
/// lets a writer use a quarter of that, so with 69 such writes the peer would wait for ever. A command
/// without arguments is shorter than this.
constexpr std::size_t kMaxPeeked = 32;

}  // namespace

FdStream::FdStream(Loop& loop, UniqueFd fd, std::string name)
    : Stream(loop), fd_(std::move(fd)), name_(std::move(name)) {}

FdStream::~FdStream() {
  if (watched_) loop().forget(fd_.get());
}

Io FdStream::try_read(std::span<std::byte> into) {
  if (failed_) return {IoStatus::failed, 0};
  // If there were more to read, epoll would have reported an edge.
  if (watched_ && !readable_) return {IoStatus::would_block, 0};
  for (;;) {
    const ssize_t got = receive(into);
    if (got > 0) {
      const auto bytes = static_cast<std::size_t>(got);
      // epoll(7): a short read from a stream means that there is no more, and the next byte is a new edge.
      if (bytes < into.size() && !ending_) readable_ = false;
      return {IoStatus::ok, bytes};
    }
    if (got == 0) return {IoStatus::end, 0};
    if (errno == EINTR) continue;
    if (errno == EAGAIN) {
      readable_ = false;
      return {IoStatus::would_block, 0};
    }
    fail_errno("read from", errno);
    return {IoStatus::failed, 0};
  }
}

ssize_t FdStream::receive(std::span<std::byte> into) {
  if (peek_mode_ && peeked_ > 0 && !peek_offset_mode_) peek_on();
  if (!peek_mode_) return ::read(fd_.get(), into.data(), into.size());
  const ssize_t got = ::recv(fd_.get(), into.data(), into.size(), MSG_PEEK);
  if (got > 0) peeked_ += static_cast<std::size_t>(got);
  // Consume them, so that the peer has room to send.
  if (peeked_ > kMaxPeeked) take_peeked(peeked_ - 1);
  return got;
}

/// Sets SO_PEEK_OFF (socket(7)), so that each peek begins where the last one ended. Done late, since a
/// command that is answered at once needs one peek only.
void FdStream::peek_on() {
  const int next = static_cast<int>(peeked_);
  peek_offset_mode_ = setsockopt(fd_.get(), SOL_SOCKET, SO_PEEK_OFF, &next, sizeof next) == 0;
  if (peek_offset_mode_) return;
  peek_mode_ = false;
  take_peeked(peeked_);
}

void FdStream::take_peeked(std::size_t size) {
  std::array<std::byte, 4096> ignored{};
  while (size > 0) {
    const ssize_t got = ::recv(fd_.get(), ignored.data(), std::min(size, ignored.size()), 0);
    if (got <= 0) return;
    size -= static_cast<std::size_t>(got);
    peeked_ -= static_cast<std::size_t>(got);
  }
}

void FdStream::when_readable(Wake* wake) {
  read_wake_ = nullptr;
  if (wake == nullptr) return;
  if (failed_ || readable_) {
    wake->wake();
    return;
  }
  read_wake_ = wake;
  watch();
}

bool FdStream::begin_write(WriteOperation& operation) {
  if (push(operation)) return true;
  watch_output();
  if (failed_) {
    operation.status = IoStatus::failed;
    return true;
  }
  write_ = &operation;
  return false;
}

bool FdStream::push(WriteOperation& operation) {
  while (!failed_ && operation.chunk.size > 0) {
    // tcp(7), MSG_MORE: fewer and larger segments when another write follows at once.
    const int flags = MSG_NOSIGNAL | (operation.more ? MSG_MORE : 0);
    const ssize_t sent = ::send(fd_.get(), operation.chunk.data, operation.chunk.size, flags);
    if (sent >= 0) {
      operation.chunk.advance(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      return false;
    } else if (errno != EINTR) {
      fail_errno("write to", errno);
    }
  }
  if (!failed_ && operation.finish) {
    take_peeked(peeked_);
    peek_mode_ = false;
    ::shutdown(fd_.get(), SHUT_WR);
  }
  operation.status = failed_ ? IoStatus::failed : IoStatus::ok;
  return true;
}

void FdStream::flush() {
  // tcp(7): setting TCP_NODELAY sends pending bytes, even if it was set before.
  const int on = 1;
  if (!failed_) setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void FdStream::hold_unsent(std::size_t bytes) {
  const int size = static_cast<int>(std::max(bytes, kMinUnsent));
  if (!failed_) setsockopt(fd_.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &size, sizeof size);
}

void FdStream::cancel_write() {
  write_ = nullptr;
}

void FdStream::when_gone(Wake* wake) {
  gone_wake_ = nullptr;
  if (wake == nullptr) return;
  if (failed_ || gone_) {
    wake->wake();
    return;
  }
  gone_wake_ = wake;
  watch();
}

void FdStream::abort(Error why) {
  if (failed_) return;
  failed_ = true;
  error_ = std::move(why);
  if (std::exchange(watched_, false)) loop().forget(fd_.get());
  fd_.reset();
  if (Wake* wake = std::exchange(read_wake_, nullptr)) wake->wake();
  if (Wake* wake = std::exchange(gone_wake_, nullptr)) wake->wake();
  if (write_ != nullptr) complete_write(IoStatus::failed);
}

void FdStream::fail_errno(std::string_view what, int errno_value) {
  abort(farport::fail_errno(what, name_, errno_value).value());
}

void FdStream::complete_write(IoStatus status) {
  WriteOperation* done = std::exchange(write_, nullptr);
  done->status = status;
  done->complete();
}

void FdStream::watch() {
  if (watched_ || failed_) return;
  const int error = loop().watch(fd_.get(), *this);
  watched_ = error == 0;
  if (error != 0) fail_errno("watch", error);
}

void FdStream::watch_output() {
  watch();
  if (output_watched_ || failed_) return;
  output_watched_ = true;
  if (const int error = loop().watch_output(fd_.get())) fail_errno("watch", error);
}

void FdStream::on_events(std::uint32_t events) {
  if ((events & (EPOLLHUP | EPOLLERR)) != 0) gone_ = true;
  if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) ending_ = true;
  if ((events & EPOLLIN) != 0 || ending_) {
    readable_ = true;
    if (Wake* wake = std::exchange(read_wake_, nullptr)) wake->wake();
  }
  if (gone_) {
    if (Wake* wake = std::exchange(gone_wake_, nullptr)) wake->wake();
  }
  WriteOperation* operation = write_;
  if (operation != nullptr && push(*operation) && write_ == operation) complete_write(operation->status);
}

}  // namespace farport::transport
