// RecentBlocks: the last part of a nettrace stream, kept block by block. No event is read.
//
// Microsoft's document NetTraceFormat_v5.md, in PerfView's repository, describes the blocks (formats 4 and
// 5).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "nettrace/framing.hpp"
#include "router/agent/recorder/compressed_bytes.hpp"

namespace farport::router {

/// Some consecutive blocks of a stream.
struct BlockRun {
  using Clock = std::chrono::steady_clock;

  Clock::time_point begun;  ///< When the first block came.
  Clock::time_point ended;  ///< When the last one came.
  CompressedBytes blocks;   ///< Their contents, each behind its kind and its size.
  bool has_sequence_point = false;
  /// A copy of the StackBlocks since the last sequence point in `blocks`; null if there are none.
  std::shared_ptr<const BlockRun> stacks;

  [[nodiscard]] std::size_t size() const { return blocks.size() + (stacks == nullptr ? 0 : stacks->size()); }
};

using BlockRuns = std::deque<std::shared_ptr<const BlockRun>>;

/// A whole nettrace file of kept blocks, made piece by piece. It holds the blocks, whatever becomes of the
/// RecentBlocks that they are from.
class RecentFile {
 public:
  /// When the oldest events in it came.
  [[nodiscard]] BlockRun::Clock::time_point begun() const { return begun_; }
  /// The memory of what is left, in bytes.
  [[nodiscard]] std::size_t held() const;
  /// The file's next bytes; nothing after its end.
  [[nodiscard]] std::vector<std::byte> next();

 private:
  friend class RecentBlocks;

  BlockRun::Clock::time_point begun_;
  std::vector<std::byte> preamble_;
  BlockRuns runs_;
  std::uint64_t offset_ = 0;
  bool ended_ = false;
};

/// Keeps what a runtime has written last, within a limit of memory. A runtime may write anything: no more
/// than its own blocks is lost by that.
class RecentBlocks {
 public:
  using Clock = BlockRun::Clock;
  enum class Stacks : std::uint8_t { keep, leave_out };

  /// `limit`: bytes of memory.
  explicit RecentBlocks(std::size_t limit, Stacks stacks = Stacks::keep);

  /// Takes the stream's next bytes, which came at `now`. Fails for what is no stream of format 4 or 5, and
  /// for one whose definitions or stacks take too much. After that it takes no more; the blocks before it
  /// stay.
  [[nodiscard]] Result<void> take(nettrace::BytesView bytes, Clock::time_point now);
  /// Changes the limit. The oldest blocks go where it is exceeded.
  void set_limit(std::size_t limit);

  /// The memory of all blocks, in bytes.
  [[nodiscard]] std::size_t size() const;
  /// The memory of what came since `since`, in bytes.
  [[nodiscard]] std::size_t size_since(Clock::time_point since) const;
  /// Whether none had to go because of the limit.
  [[nodiscard]] bool is_whole() const { return dropped_until_ == Clock::time_point::min(); }
  /// When the newest of the dropped blocks came; the clock's earliest time if there are none.
  [[nodiscard]] Clock::time_point dropped_until() const { return dropped_until_; }
  /// When the oldest events came; nothing if none has come.
  [[nodiscard]] std::optional<Clock::time_point> begun() const;
  /// A file of what came since `since`, and up to kRunTime more; nothing if no event has come.
  [[nodiscard]] std::optional<RecentFile> file(Clock::time_point since) const;

  /// The longest time between the first and the last block of a run; the next block ends it.
  static constexpr std::chrono::seconds kRunTime{5};

 private:
  [[nodiscard]] Result<void> take_frame(const nettrace::Frame& frame, nettrace::BytesView bytes,
                                        Clock::time_point now);
  void add(const nettrace::Frame& frame, nettrace::BytesView bytes, Clock::time_point now);
  void end_run();
  void drop_oldest();
  void trim();

  std::size_t limit_;
  Stacks stacks_wanted_;
  Clock::time_point dropped_until_ = Clock::time_point::min();
  nettrace::FrameCutter frames_;
  std::vector<std::byte> preamble_;     ///< What stands before the first block: the Trace object is its end.
  std::vector<std::byte> definitions_;  ///< All MetadataBlocks: any later event may need them.
  BlockRuns stacks_;                    ///< The StackBlocks that the events of the first run may need.
  std::size_t stacks_size_ = 0;
  BlockRuns runs_;
  std::size_t runs_size_ = 0;
  BlockRun open_;                       ///< The newest run, which still grows.
  std::vector<std::byte> open_stacks_;  ///< What its `stacks` will be.
};

}  // namespace farport::router
