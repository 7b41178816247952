// Finds the blocks in the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nettrace/cursor.hpp"

namespace farport::nettrace {

// A block of the stream, whatever is around it.

/// The numbers are those of format 6 ("Blocks"). Formats 4 and 5 have names for them.
enum class BlockKind : std::uint8_t {
  end = 0,
  trace = 1,
  events = 2,
  metadata = 3,
  sequence_point = 4,
  stacks = 5,
  threads = 6,
  removed_threads = 7,
  labels = 8,
  unknown = 255,  ///< To be skipped.
};

struct Block {
  BlockKind kind = BlockKind::unknown;
  Cursor content;
};

// What a trace says of itself as a whole.

struct TraceHeader {
  std::uint32_t format = 0;     ///< 4, 5 or 6.
  std::int64_t sync_time = 0;   ///< When the trace began, in units of 100 ns since 1970 (UTC).
  std::int64_t sync_ticks = 0;  ///< The same moment by the clock of the timestamps.
  std::int64_t ticks_per_second = 1;
  std::uint32_t pointer_size = 8;  ///< In bytes: 4 or 8.
  std::uint64_t process_id = 0;    ///< 0 where there are several, or it is not known (format 6).
  std::uint32_t processors = 0;    ///< 0 where it is not known (format 6).
  /// What else format 6 has, as it is written there. Those that have become fields above are here, too.
  std::vector<std::pair<std::string, std::string>> attributes;

  /// A timestamp in units of 100 ns since 1970 (UTC), rounded towards the beginning of the trace. What can't
  /// be counted so becomes the least or the greatest number.
  [[nodiscard]] std::int64_t time_of(std::int64_t ticks) const;
};

/// The Trace object of formats 4 and 5 has as many bytes.
inline constexpr std::size_t kTraceObjectBytes = 48;

/// Reads the content of the Trace object ("The First Object: The Trace Object").
[[nodiscard]] Result<TraceHeader> read_trace_object(Cursor in, std::uint32_t format);
/// Reads a TraceBlock (format 6).
[[nodiscard]] Result<TraceHeader> read_trace_block(Cursor in);

/// The next thing in the stream, from its first byte on.
struct Frame {
  std::size_t size = 0;  ///< Of the whole, in bytes.
  BlockKind kind = BlockKind::unknown;
  std::size_t content_begin = 0;
  std::size_t content_size = 0;
};

/// What can be said of the next frame by its first bytes: what it is, or how many bytes it takes to say more.
struct Glance {
  std::optional<Frame> frame;
  std::size_t takes = 0;  ///< More than there were; where there is a frame, its size.
};

/// Knows the stream's outermost structure: where it begins ("First Bytes: NetTrace Magic"), and how blocks
/// follow each other. Holds no bytes.
class Framing {
 public:
  /// Looks at the beginning of a frame, which is at `offset` in the stream, as far as it has come. May be
  /// asked again with more of the same, until there is a frame. Fails where this is no stream, and where a
  /// size is beyond the limits.
  [[nodiscard]] Result<Glance> look(BytesView begin, std::uint64_t offset);

  /// 0 until it is known; 4 stands for 5, too, until the Trace object has come.
  [[nodiscard]] std::uint32_t format() const { return format_; }

 private:
  [[nodiscard]] Result<Glance> look_at_preamble(BytesView begin, std::uint64_t offset);
  [[nodiscard]] Result<Glance> look_at_object(BytesView begin, std::uint64_t offset);
  [[nodiscard]] static Result<Glance> look_at_block(BytesView begin, std::uint64_t offset);

  std::uint32_t format_ = 0;
  bool in_object_ = false;  ///< Formats 4 and 5: the end of the last one has not come yet.
};

/// Whether a stream comes whole, without reading what is in it.
/// Follows the blocks of a stream as its bytes come. A runtime that ends well, or is told to stop, writes an
/// end behind the last one; one that is killed does not.
class EndWatch {
 public:
  void take(BytesView bytes);
  /// Whether the stream has begun.
  [[nodiscard]] bool begun() const { return offset_ > 0; }
  /// To be asked when no more bytes come: whether the end is missing. Not of what is no stream.
  [[nodiscard]] bool breaks_off() const { return !ended_ && !unreadable_; }

 private:
  void take_head();

  Framing framing_;
  std::uint64_t offset_ = 0;     ///< Of the frame whose head is being waited for.
  std::vector<std::byte> head_;  ///< What has come of it.
  std::size_t takes_ = 1;        ///< How many bytes of it there must be to go on.
  std::size_t skip_ = 0;         ///< Bytes that are still to come of the frame before.
  bool ended_ = false;
  bool unreadable_ = false;
};

}  // namespace farport::nettrace
