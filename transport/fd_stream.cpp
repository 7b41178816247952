#include "transport/fd_stream.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

namespace farport::transport {
namespace {

bool is_unix_socket(int fd) {
  int domain = 0;
  socklen_t size = sizeof domain;
  return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

bool has_hung_up(int fd) {
  pollfd entry{fd, 0, 0};
  return ::poll(&entry, 1, 0) == 1 && (entry.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace

FdStream::FdStream(Loop& loop, UniqueFd fd, std::string name)
    : Stream(loop), fd_(std::move(fd)), name_(std::move(name)), tells_hang_up_(is_unix_socket(fd_.get())) {
  auto* poll = new uv_poll_t;
  uv_poll_init(loop.uv(), poll, fd_.get());
  poll->data = this;
  poll_.reset(poll);
}

FdStream::~FdStream() = default;

Io FdStream::try_read(std::span<std::byte> into) {
  if (failed_) return {IoStatus::failed, 0};
  for (;;) {
    const ssize_t got = ::read(fd_.get(), into.data(), into.size());
    if (got > 0) return {IoStatus::ok, static_cast<std::size_t>(got)};
    if (got == 0) return {IoStatus::end, 0};
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return {IoStatus::would_block, 0};
    fail_errno("read from", errno);
    return {IoStatus::failed, 0};
  }
}

void FdStream::when_readable(Wake* wake) {
  if (failed_ && wake != nullptr) {
    wake->wake();
    return;
  }
  read_wake_ = wake;
  poll_for_more();
}

bool FdStream::begin_write(WriteOperation& operation) {
  if (push(operation)) return true;
  write_ = &operation;
  poll_for_more();
  return false;
}

bool FdStream::push(WriteOperation& operation) {
  while (!failed_ && operation.chunk.size > 0) {
    const ssize_t sent = ::write(fd_.get(), operation.chunk.data, operation.chunk.size);
    if (sent >= 0) {
      operation.chunk.advance(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      return false;
    } else if (errno != EINTR) {
      fail_errno("write to", errno);
    }
  }
  if (!failed_ && operation.finish) ::shutdown(fd_.get(), SHUT_WR);
  operation.status = failed_ ? IoStatus::failed : IoStatus::ok;
  return true;
}

void FdStream::cancel_write() {
  write_ = nullptr;
}

void FdStream::when_gone(Wake* wake) {
  if (failed_ && wake != nullptr) {
    wake->wake();
    return;
  }
  gone_wake_ = wake;
  poll_for_more();
}

void FdStream::abort(Error why) {
  if (failed_) return;
  failed_ = true;
  error_ = std::move(why);
  poll_.reset();
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

int FdStream::wanted() const {
  int events = 0;
  if (read_wake_ != nullptr) events |= UV_READABLE;
  if (write_ != nullptr) events |= UV_WRITABLE;
  // Nothing is ever "prioritized" on a Unix socket: polling for that alone tells of a hang-up only.
  if (gone_wake_ != nullptr && tells_hang_up_) events |= UV_PRIORITIZED;
  return events;
}

void FdStream::poll_for_more() {
  // What is polled for in excess is dropped when it fires unwanted: mostly it is wanted again before.
  if (!failed_ && (wanted() & ~polled_) != 0) set_polled(wanted());
}

void FdStream::set_polled(int events) {
  polled_ = events;
  if (events == 0) {
    uv_poll_stop(poll_.get());
    return;
  }
  uv_poll_start(poll_.get(), events, [](uv_poll_t* poll, int status, int fired) {
    static_cast<FdStream*>(poll->data)->on_event(status, fired);
  });
}

void FdStream::on_event(int status, int events) {
  if (status < 0) {
    // An error condition: libuv has stopped polling. Reading or writing tells what it is.
    polled_ = 0;
    events = UV_READABLE | UV_WRITABLE | UV_PRIORITIZED;
  }
  int keep = 0;
  bool unwanted = false;
  if ((events & UV_READABLE) != 0) {
    Wake* reader = std::exchange(read_wake_, nullptr);
    if (reader != nullptr) {
      reader->wake();
      keep = UV_READABLE;  // Whoever was woken usually waits again within this turn.
    } else {
      unwanted = true;
    }
  }
  if ((events & UV_WRITABLE) != 0) {
    WriteOperation* operation = write_;
    if (operation != nullptr && push(*operation) && write_ == operation) complete_write(operation->status);
    unwanted |= write_ == nullptr;
  }
  if ((events & UV_PRIORITIZED) != 0 && !failed_) {
    on_hang_up();
    unwanted |= gone_wake_ == nullptr;
  }
  if (unwanted && !failed_) set_polled(wanted() | keep);
}

void FdStream::on_hang_up() {
  if (!has_hung_up(fd_.get())) return;
  if (Wake* wake = std::exchange(gone_wake_, nullptr)) wake->wake();
}

}  // namespace farport::transport
