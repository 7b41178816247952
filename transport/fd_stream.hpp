// FdStream: a Stream over a non-blocking socket or pipe.
#pragma once

#include <memory>
#include <string>

#include "base/unique_fd.hpp"
#include "transport/stream.hpp"

namespace farport::transport {

/// Initial limit of unsent bytes that the kernel holds for a TCP connection: few, so that a command isn't
/// stuck behind a bulk trace.
inline constexpr std::size_t kMinUnsent = 16 * 1024;

class FdStream final : public Stream, private FdListener {
 public:
  /// Takes over a non-blocking descriptor. Errors call the stream `name`.
  FdStream(Loop& loop, UniqueFd fd, std::string name);
  ~FdStream() override;

  Io try_read(std::span<std::byte> into) override;
  void when_readable(Wake* wake) override;
  bool begin_write(WriteOperation& operation) override;
  void flush() override;
  void hold_unsent(std::size_t bytes) override;
  void cancel_write() override;
  /// Unix sockets report a peer that has closed (EPOLLHUP); TCP only one that has reset the connection.
  void when_gone(Wake* wake) override;
  void abort(Error why) override;
  [[nodiscard]] const Error& error() const override { return *error_; }

  /// co_await connected(): passes when a connect(2) in progress has ended; SO_ERROR says how.
  class [[nodiscard]] ConnectedAwaiter;
  ConnectedAwaiter connected();

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Reports that an operation on fd() from outside, such as accept(2), would have blocked. readable() then
  /// waits for the next event.
  void found_nothing() { readable_ = false; }
  /// For a Unix socket: unless we finish our direction, closing the stream resets the connection for the peer
  /// (ECONNRESET), so that the peer does not take broken-off data for complete. Bytes are read with MSG_PEEK
  /// and stay in the kernel for that: a socket that is closed with unread data resets its peer.
  void reset_unless_finished() { peek_mode_ = true; }
  /// Whether the peer is known to be unable to receive any more.
  [[nodiscard]] bool peer_gone() const { return gone_; }
  /// Holds `companion` for as long as the stream lives.
  void keep(std::shared_ptr<void> companion) { companion_ = std::move(companion); }

 private:
  void on_events(std::uint32_t events) override;
  void watch();
  void watch_output();
  bool push(WriteOperation& operation);
  ssize_t receive(std::span<std::byte> into);
  void peek_on();
  void take_peeked(std::size_t size);
  void complete_write(IoStatus status);
  void fail_errno(std::string_view what, int errno_value);

  UniqueFd fd_;
  std::string name_;
  std::shared_ptr<void> companion_;

  // Events are edges, so the state that they report is remembered until a call finds otherwise.
  bool watched_ = false;
  bool output_watched_ = false;
  bool readable_ = false;
  bool ending_ = false;  ///< The peer has finished sending: after a short read, an end may be left.
  bool gone_ = false;

  Wake* read_wake_ = nullptr;
  Wake* gone_wake_ = nullptr;
  WriteOperation* write_ = nullptr;

  bool peek_mode_ = false;         ///< Read with MSG_PEEK.
  bool peek_offset_mode_ = false;  ///< SO_PEEK_OFF is set.
  std::size_t peeked_ = 0;         ///< Bytes read by peeking that are still in the kernel.

  bool failed_ = false;
  BoxedError error_;
};

/// Waits like an empty write: a socket becomes writable when connect(2) has ended.
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
    stream_.watch_output();
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
