#include "router/stream/relay.hpp"

#include "transport/event.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::BufferPool;
using transport::Io;
using transport::IoStatus;
using transport::Stream;
using transport::Task;

/// Chunks moved without waiting before others get a turn.
constexpr int kChunksPerTurn = 4;
/// How long it may take to deliver what a vanished tool has sent.
constexpr transport::Milliseconds kLastDelivery{5000};
/// How long a runtime may take to end by itself once its tool is gone. Many are about to, and a stream that
/// ends needs no reset.
constexpr transport::Milliseconds kRuntimesFarewell{100};

/// One direction of a relay.
struct Direction {
  Direction(Stream& sender, Stream& receiver, std::uint64_t& count)
      : from(sender), to(receiver), bytes(count) {}

  Stream& from;
  Stream& to;
  std::uint64_t& bytes;
  bool finished = false;           ///< All that was sent is delivered, including the end.
  bool from_gone = false;          ///< The sender can't receive anything any more.
  const Stream* broken = nullptr;  ///< The stream whose error has ended this direction.

  /// Whether the receiver takes no more.
  [[nodiscard]] bool refused() const { return broken == &to; }
};

/// Counts a relay's buffers that wait for their receiver.
class Waiting {
 public:
  explicit Waiting(transport::BufferBudget::LazyReservation& counted) : counted_(counted) {}
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  /// Counts one buffer for as long as it exists.
  class One {
   public:
    explicit One(Waiting& all) : all_(all) { all_.add(1); }
    One(const One&) = delete;
    One& operator=(const One&) = delete;
    ~One() { all_.add(-1); }

   private:
    Waiting& all_;
  };

 private:
  void add(int buffers) {
    buffers_ += buffers;
    counted_.update(static_cast<std::uint64_t>(buffers_) * BufferPool::kSpace);
  }

  transport::BufferBudget::LazyReservation& counted_;
  int buffers_ = 0;
};

/// Reads what is there. Reads again after a short read, since the end often comes with the last bytes;
/// `ended` is set in that case.
Io fill(Stream& from, std::span<std::byte> space, bool& ended) {
  Io io = from.try_read(space);
  if (io.status != IoStatus::ok || io.bytes == space.size()) return io;
  const Io more = from.try_read(space.subspan(io.bytes));
  ended = more.status == IoStatus::end;
  io.bytes += more.bytes;
  return io;
}

Task<void> pump(Direction& way, BufferPool& buffers, Waiting& waiting, transport::Event& changed) {
  for (int chunks = 0; way.broken == nullptr;) {
    Io io;
    bool ended = false;
    {
      // The buffer is held only while there is something to carry.
      transport::Buffer buffer = buffers.take();
      io = fill(way.from, buffer.space(), ended);
      ended |= io.status == IoStatus::end;
      // All writes are in this one place, since each takes room in the coroutine's frame.
      if (ended || io.status == IoStatus::ok) {
        const Waiting::One one(waiting);
        const IoStatus written = co_await way.to.write(buffer, io.bytes, ended);
        if (written != IoStatus::ok) way.broken = &way.to;
      }
      way.bytes += io.bytes;
      way.finished = ended && (!way.refused() || io.bytes == 0);
    }
    if (way.refused() || way.finished) break;
    if (io.status == IoStatus::would_block) {
      chunks = 0;
      co_await way.from.readable();
    } else if (io.status == IoStatus::failed) {
      way.broken = &way.from;
    } else if (++chunks == kChunksPerTurn) {
      chunks = 0;
      co_await transport::next_turn(way.from.loop());
    }
  }
  changed.set();
}

RelayOutcome outcome_of(const Direction& to_runtime, const Direction& to_tool) {
  RelayOutcome outcome{to_runtime.bytes, to_tool.bytes, to_tool.finished, {}};
  const Stream* broken = to_tool.broken;
  if (broken == nullptr && !to_tool.finished) broken = to_runtime.broken;
  if (broken != nullptr) outcome.broken = broken->error();
  return outcome;
}

/// Notes that a direction's sender is gone, for as long as the result lives.
auto note_gone(Direction& way, transport::Event& changed) {
  return transport::WhenGone(way.from, [&way, &changed] {
    way.from_gone = true;
    changed.set();
  });
}

}  // namespace

Task<RelayOutcome> relay(Stream& tool, Stream& runtime, BufferPool& buffers,
                         transport::BufferBudget::LazyReservation& waiting, RelayCounts* counts) {
  transport::Event changed(tool.loop());
  RelayCounts own;
  RelayCounts& carried = counts == nullptr ? own : *counts;
  Direction to_runtime(tool, runtime, carried.to_runtime);
  Direction to_tool(runtime, tool, carried.to_tool);
  Waiting buffers_waiting(waiting);
  Task<void> runtime_pump = pump(to_runtime, buffers, buffers_waiting, changed);
  Task<void> tool_pump = pump(to_tool, buffers, buffers_waiting, changed);
  // Begin with what the runtime has already sent: a write to a runtime that has ended would lose it.
  tool_pump.start();
  runtime_pump.start();
  const auto tool_watch = note_gone(to_runtime, changed);
  const auto runtime_watch = note_gone(to_tool, changed);

  std::optional<transport::Deadline> limit;
  const auto over = [&] {
    if (to_tool.broken != nullptr || (limit && limit->expired())) return true;
    // A runtime that takes no more may still have something to send.
    if (to_runtime.broken != nullptr && !to_runtime.refused()) return true;
    return to_tool.finished && (to_runtime.finished || to_runtime.refused() || to_tool.from_gone);
  };
  while (!over()) {
    // Nobody reads what goes to a runtime that is gone, but delivering what it has sent takes as long as its
    // tool likes. A tool that is gone shows when something is written to it.
    if (to_tool.from_gone) runtime_pump.reset();
    if (to_runtime.from_gone) {
      const transport::Milliseconds left = to_runtime.finished ? kRuntimesFarewell : kLastDelivery;
      if (!limit || to_runtime.finished) limit.emplace(tool.loop(), left, [&changed] { changed.set(); });
    }
    co_await changed.wait();
  }
  co_return outcome_of(to_runtime, to_tool);
}

}  // namespace farport::router
