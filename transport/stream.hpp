// Stream: the only interface to bytes. Unix sockets, TCP, TLS and HTTP/2 streams are Streams.
//
// Reading is by readiness: try_read() takes what is there, and when_readable() says when to try again.
// Writing is by completion: begin_write() takes the bytes now, or keeps the operation pending until it can,
// which is the back-pressure. One reader and one writer at a time. Nothing here allocates. A Stream outlives
// the operations on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "transport/buffer_pool.hpp"
#include "transport/loop.hpp"
#include "transport/task.hpp"

namespace farport::transport {

/// The outcome of a read or a write.
enum class IoStatus : std::uint8_t {
  ok,           ///< `bytes` were read, or the whole write was taken.
  would_block,  ///< Nothing to read now. Only try_read() returns it.
  end,          ///< The peer has finished sending.
  failed,       ///< The stream is broken; error() says why.
};
struct Io {
  IoStatus status = IoStatus::ok;
  std::size_t bytes = 0;
};

/// Bytes to be written. With headroom, the stream may put a frame header into the kHeadroom bytes before
/// `data`, or before any later part of it, while it writes that part. It restores them afterwards.
struct Chunk {
  std::byte* data = nullptr;
  std::size_t size = 0;
  bool headroom = false;

  void advance(std::size_t taken) {
    data += taken;
    size -= taken;
  }
};

/// Callback interface for one-time notifications.
class Wake {
 public:
  virtual void wake() = 0;

 protected:
  ~Wake() = default;
};

/// A write under way. `chunk` advances as bytes are taken. While it is pending, its owner may point `chunk`
/// to a copy of what is left.
class WriteOperation {
 public:
  Chunk chunk;
  /// The buffer that holds the chunk's bytes, if any. A stream that needs the bytes for longer moves it out.
  Buffer* holder = nullptr;
  bool finish = false;  ///< End this direction once the chunk is taken.
  bool more = false;    ///< Another write follows at once: these bytes may wait for it, or for flush().
  IoStatus status = IoStatus::ok;
  /// Called once, from the loop, when a pending operation has been taken or has failed.
  virtual void complete() = 0;

 protected:
  ~WriteOperation() = default;
};

class Stream;
template <void (Stream::*when)(Wake*)>
class WakeAwaiter;
class WriteAwaiter;

class Stream {
 public:
  explicit Stream(Loop& loop) : loop_(loop) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  /// Reads up to into.size() bytes that have come already.
  virtual Io try_read(std::span<std::byte> into) = 0;
  /// Calls wake.wake() once, when try_read() is worth another try. nullptr cancels that.
  virtual void when_readable(Wake* wake) = 0;
  /// Writes the operation's chunk. True: done at once (see operation.status for failure). False: pending, and
  /// complete() will be called.
  virtual bool begin_write(WriteOperation& operation) = 0;
  /// Sends what writes with `more` have left unsent.
  virtual void flush() {}
  /// Lets the kernel hold so many bytes unsent, at least the initial limit. Later writes queue behind them,
  /// but too few let a fast network run dry.
  virtual void hold_unsent(std::size_t /*bytes*/) {}
  /// Cancels a pending write. Bytes that it had not taken are lost, so only abort() makes sense afterwards.
  virtual void cancel_write() = 0;
  /// Calls wake.wake() once, when the peer can't receive any more. That is more than the end of its sending,
  /// which try_read() reports. nullptr cancels it.
  virtual void when_gone(Wake* wake) = 0;
  /// Breaks the stream off in both directions: pending operations fail with `why`. Idempotent; the first
  /// reason is kept.
  virtual void abort(Error why) = 0;
  /// Why the stream failed. Meaningful after an IoStatus::failed.
  [[nodiscard]] virtual const Error& error() const = 0;

  /// co_await readable(): passes when try_read() is worth a try.
  [[nodiscard]] WakeAwaiter<&Stream::when_readable> readable();
  /// co_await gone(): passes when the peer is wholly gone.
  [[nodiscard]] WakeAwaiter<&Stream::when_gone> gone();
  /// co_await write(chunk): passes with ok when all bytes are taken, or with failed.
  [[nodiscard]] WriteAwaiter write(Chunk chunk);
  /// co_await write(bytes): the same without headroom. The bytes must stay until it passes.
  [[nodiscard]] WriteAwaiter write(std::span<const std::byte> bytes);
  /// co_await write(buffer, size): writes the first `size` bytes of the buffer's space. The stream may take
  /// the buffer over.
  [[nodiscard]] WriteAwaiter write(Buffer& buffer, std::size_t size, bool last = false);
  /// co_await write_last(...), or write(..., true): writes the bytes and ends this direction, with one frame
  /// instead of two where possible.
  [[nodiscard]] WriteAwaiter write_last(Chunk chunk);
  [[nodiscard]] WriteAwaiter write_last(std::span<const std::byte> bytes);
  /// co_await finish(): ends this direction; the other one continues (half-close).
  [[nodiscard]] WriteAwaiter finish();

  /// Reads at least one byte, waiting for it. Status: ok, end or failed.
  Task<Io> read(std::span<std::byte> into);
  /// Reads exactly into.size() bytes. Status: ok, end (`bytes` came before it) or failed.
  Task<Io> read_exactly(std::span<std::byte> into);
  /// Reads and drops everything to the end or a failure. Yields to others, so that a flood delays nobody.
  Task<void> discard();

  [[nodiscard]] Loop& loop() const { return loop_; }

 private:
  Loop& loop_;
};

/// Resumes a coroutine from the loop when woken.
class CoroutineWake : public Wake {
 public:
  explicit CoroutineWake(Loop& loop) : loop_(loop) {}
  void wake() override { loop_.make_ready(waiter_); }
  void resume_later(std::coroutine_handle<> coroutine) { waiter_.coroutine = coroutine; }

 protected:
  ~CoroutineWake() = default;

 private:
  Loop& loop_;
  Waiter waiter_;
};

/// Passes when the stream calls what was given to one of its when_… functions.
template <void (Stream::*when)(Wake*)>
class [[nodiscard]] WakeAwaiter final : CoroutineWake {
 public:
  explicit WakeAwaiter(Stream& stream) : CoroutineWake(stream.loop()), stream_(stream) {}
  WakeAwaiter(const WakeAwaiter&) = delete;
  WakeAwaiter& operator=(const WakeAwaiter&) = delete;
  ~WakeAwaiter() {
    if (waiting_) (stream_.*when)(nullptr);
  }
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) {
    resume_later(coroutine);
    waiting_ = true;
    (stream_.*when)(this);
  }
  void await_resume() noexcept { waiting_ = false; }

 private:
  Stream& stream_;
  bool waiting_ = false;
};

/// Calls `action` once, at the end of the loop's turn in which the stream's peer is gone
/// (Stream::when_gone()), unless it is destroyed before. The stream must outlive it, and must have no other
/// waiter for that.
template <typename Action>
class [[nodiscard]] WhenGone final : Wake, TurnEndHook {
 public:
  WhenGone(Stream& stream, Action action) : stream_(stream), action_(std::move(action)) {
    stream_.when_gone(this);
  }
  WhenGone(const WhenGone&) = delete;
  WhenGone& operator=(const WhenGone&) = delete;
  ~WhenGone() { stream_.when_gone(nullptr); }

 private:
  /// Deferred: the stream may be in the middle of ending.
  void wake() override { stream_.loop().defer(*this); }
  void end_of_tick() override { action_(); }

  Stream& stream_;
  Action action_;
};

class [[nodiscard]] WriteAwaiter final : WriteOperation {
 public:
  WriteAwaiter(Stream& stream, Chunk bytes, bool end, Buffer* buffer = nullptr) : stream_(stream) {
    chunk = bytes;
    holder = buffer;
    finish = end;
  }
  WriteAwaiter(const WriteAwaiter&) = delete;
  WriteAwaiter& operator=(const WriteAwaiter&) = delete;
  ~WriteAwaiter() {
    if (pending_) stream_.cancel_write();
  }
  [[nodiscard]] bool await_ready() {
    pending_ = !stream_.begin_write(*this);
    return !pending_;
  }
  void await_suspend(std::coroutine_handle<> coroutine) { waiter_.coroutine = coroutine; }
  [[nodiscard]] IoStatus await_resume() const noexcept { return status; }

 private:
  void complete() override {
    pending_ = false;
    stream_.loop().make_ready(waiter_);
  }

  Stream& stream_;
  Waiter waiter_;
  bool pending_ = false;
};

inline WakeAwaiter<&Stream::when_readable> Stream::readable() {
  return WakeAwaiter<&Stream::when_readable>(*this);
}
inline WakeAwaiter<&Stream::when_gone> Stream::gone() {
  return WakeAwaiter<&Stream::when_gone>(*this);
}
inline WriteAwaiter Stream::write(Chunk chunk) {
  return {*this, chunk, false};
}
// Without headroom nobody writes through the pointer.
inline WriteAwaiter Stream::write(std::span<const std::byte> bytes) {
  return {*this, Chunk{const_cast<std::byte*>(bytes.data()), bytes.size(), false}, false};
}
inline WriteAwaiter Stream::write_last(std::span<const std::byte> bytes) {
  return {*this, Chunk{const_cast<std::byte*>(bytes.data()), bytes.size(), false}, true};
}
inline WriteAwaiter Stream::write(Buffer& buffer, std::size_t size, bool last) {
  return {*this, Chunk{buffer.space().data(), size, true}, last, &buffer};
}
inline WriteAwaiter Stream::write_last(Chunk chunk) {
  return {*this, chunk, true};
}
inline WriteAwaiter Stream::finish() {
  return {*this, Chunk{}, true};
}

/// Why no line was read.
enum class NoLine : std::uint8_t {
  ended,     ///< The stream has ended or failed before the line has.
  too_long,  ///< The line, or all that was read for it, is too long.
};

/// Whether a line, without its "\n", is the wanted one.
using LineFilter = std::function<bool(std::string_view)>;

/// Reads lines up to the first one that is `wanted`, and no byte beyond it, since what follows is for another
/// reader. Returns that line without its "\n". `most`: limit for the bytes of all lines, with their ends.
Task<tl::expected<std::string, NoLine>> read_to_line(Stream& stream, LineFilter wanted, std::size_t most);

/// Like read_to_line(), for the first line.
Task<tl::expected<std::string, NoLine>> read_line(Stream& stream, std::size_t most);

}  // namespace farport::transport
