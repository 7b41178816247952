// FdStream: a Stream over a non-blocking socket or pipe.
#pragma once

#include <string>

#include "transport/stream.hpp"
#include "transport/unique_fd.hpp"

namespace farport::transport {

class FdStream final : public Stream {
 public:
  /// Takes over a connected, non-blocking descriptor. `name` stands for it in errors.
  FdStream(Loop& loop, UniqueFd fd, std::string name);
  ~FdStream() override;

  Io try_read(std::span<std::byte> into) override;
  void when_readable(Wake* wake) override;
  bool begin_write(WriteOperation& operation) override;
  void cancel_write() override;
  /// Unix sockets tell of a peer that has closed (EPOLLHUP); TCP tells only at the next failed write.
  void when_gone(Wake* wake) override;
  void abort(Error why) override;
  [[nodiscard]] const Error& error() const override { return error_; }

  /// co_await connected(): passes when a connect(2) in progress has ended; SO_ERROR says how.
  class [[nodiscard]] ConnectedAwaiter;
  ConnectedAwaiter connected();

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  [[nodiscard]] int wanted() const;
  void poll_for_more();
  void set_polled(int events);
  void on_event(int status, int events);
  void on_hang_up();
  bool push(WriteOperation& operation);
  void complete_write(IoStatus status);
  void fail_errno(std::string_view what, int errno_value);

  UniqueFd fd_;
  std::string name_;
  OwnedHandle<uv_poll_t> poll_;
  int polled_ = 0;  ///< The events that libuv polls for now.
  bool tells_hang_up_ = false;

  Wake* read_wake_ = nullptr;
  Wake* gone_wake_ = nullptr;
  WriteOperation* write_ = nullptr;

  bool failed_ = false;
  Error error_;
};

/// An empty write that waits for its turn: a socket becomes writable when connect(2) has ended.
class [[nodiscard]] FdStream::ConnectedAwaiter final : WriteOperation {
 public:
  explicit ConnectedAwaiter(FdStream& stream) : stream_(stream) {}
  ConnectedAwaiter(const ConnectedAwaiter&) = delete;
  ConnectedAwaiter& operator=(const ConnectedAwaiter&) = delete;
  ~ConnectedAwaiter() {
    if (stream_.write_ == this) stream_.cancel_write();
  }
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) {
    waiter_.coroutine = coroutine;
    stream_.write_ = this;
    stream_.poll_for_more();
  }
  void await_resume() const noexcept {}

 private:
  void complete() override { stream_.loop().make_ready(waiter_); }

  FdStream& stream_;
  Waiter waiter_;
};
inline FdStream::ConnectedAwaiter FdStream::connected() {
  return ConnectedAwaiter(*this);
}

}  // namespace farport::transport
