// Framing: finds the blocks in the stream, and its header and end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nettrace/cursor.hpp"

namespace farport::nettrace {

/// A block's kind. The values are those of format 6 ("Blocks"); formats 4 and 5 use names.
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
  unknown = 255,  ///< Skipped.
};

struct Block {
  BlockKind kind = BlockKind::unknown;
  Cursor content;
};

/// What a trace says about itself.

struct TraceHeader {
  std::uint32_t format = 0;     ///< 4, 5 or 6.
  std::int64_t sync_time = 0;   ///< Start of the trace, in units of 100 ns since 1970 (UTC).
  std::int64_t sync_ticks = 0;  ///< The same moment on the timestamps' clock.
  std::int64_t ticks_per_second = 1;
  std::uint32_t pointer_size = 8;  ///< In bytes: 4 or 8.
  std::uint64_t process_id = 0;    ///< 0 if there are several, or if unknown (format 6).
  std::uint32_t processors = 0;    ///< 0 if unknown (format 6).
  /// All attributes of format 6 in their original form, including those in the fields above.
  std::vector<std::pair<std::string, std::string>> attributes;

  /// Converts a timestamp to units of 100 ns since 1970 (UTC), rounded towards the start of the trace. Out of
  /// range, the smallest or largest number.
  [[nodiscard]] std::int64_t time_of(std::int64_t ticks) const;
};

/// The end of a stream of formats 4 and 5.
inline constexpr auto kStreamEnd = std::byte{1};

/// Runtimes write blocks of about this size.
inline constexpr std::size_t kUsualBlockBytes = 100 * 1024;

/// Appends a whole block of format 4 or 5, other than the Trace object, to the end of a stream. `offset`: the
/// position of the first byte of `to` in that stream.
void append_block(std::vector<std::byte>& to, BlockKind kind, BytesView content, std::uint64_t offset);

/// Size of the Trace object in formats 4 and 5.
inline constexpr std::size_t kTraceObjectBytes = 48;

/// Reads the content of the Trace object ("The First Object: The Trace Object").
[[nodiscard]] Result<TraceHeader> read_trace_object(Cursor in, std::uint32_t format);
/// Reads a TraceBlock (format 6).
[[nodiscard]] Result<TraceHeader> read_trace_block(Cursor in);

/// The next element of the stream, with positions relative to its first byte.
struct Frame {
  std::size_t size = 0;  ///< In bytes, with its header.
  BlockKind kind = BlockKind::unknown;
  std::size_t head_size = 0;  ///< Of a block, without the padding before its content.
  std::size_t content_begin = 0;
  std::size_t content_size = 0;
};

/// What the first bytes tell about the next frame: the frame, or how many bytes are needed to tell.
struct FramePeek {
  std::optional<Frame> frame;
  std::size_t takes = 0;  ///< Bytes needed, more than were given; with a frame, its size.
};

/// Parses the stream's outer structure: its start ("First Bytes: NetTrace Magic") and the sequence of blocks.
/// Holds no bytes.
class Framing {
 public:
  /// Looks at the available start of the frame at `offset` in the stream. If it returns no frame, call it
  /// again with more bytes. Fails if this is no nettrace stream or a size exceeds the limits.
  [[nodiscard]] Result<FramePeek> look(BytesView begin, std::uint64_t offset);

  /// 0 until it is known; 4 may mean 5 until the Trace object has come.
  [[nodiscard]] std::uint32_t format() const { return format_; }

 private:
  [[nodiscard]] Result<FramePeek> look_at_preamble(BytesView begin, std::uint64_t offset);
  [[nodiscard]] Result<FramePeek> look_at_object(BytesView begin, std::uint64_t offset);
  [[nodiscard]] static Result<FramePeek> look_at_block(BytesView begin, std::uint64_t offset);

  std::uint32_t format_ = 0;
  bool in_object_ = false;  ///< Formats 4 and 5: the end of the last object has not come yet.
};

/// Cuts a stream, which comes in pieces of any size, into its frames. Holds one incomplete frame at most.
class FrameCutter {
 public:
  /// Called for each frame with its bytes, which are valid until it returns.
  using Take = std::function<Result<void>(const Frame& frame, BytesView bytes)>;

  /// `max_frame`: larger frames are refused as soon as their size is known, in bytes.
  explicit FrameCutter(std::size_t max_frame = SIZE_MAX) : max_frame_(max_frame) {}

  /// Takes the next bytes, any number of them. Fails with the position if the stream is broken, or as `take`
  /// does. Then it always fails in the same way.
  [[nodiscard]] Result<void> feed(BytesView bytes, const Take& take);

  /// Whether the stream has ended properly. Nothing may follow.
  [[nodiscard]] bool ended() const { return ended_; }
  /// To be called after the last byte: fails if the stream is broken or incomplete.
  [[nodiscard]] Result<void> finish() const;
  /// As Framing::format().
  [[nodiscard]] std::uint32_t format() const { return framing_.format(); }
  /// Position of the frame that is being taken, or awaited.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  /// The memory that it holds, in bytes.
  [[nodiscard]] std::size_t held() const { return pending_.capacity(); }

 private:
  [[nodiscard]] Result<void> feed_pieces(BytesView bytes, const Take& take);
  /// Takes the frame at the start of `begin` and returns its size; 0 if it is incomplete.
  [[nodiscard]] Result<std::size_t> take_frame(BytesView begin, const Take& take);
  void drop_pending();

  std::size_t max_frame_;
  Framing framing_;
  std::uint64_t offset_ = 0;
  std::optional<Frame> frame_;      ///< The awaited frame, once it is known.
  std::size_t takes_ = 0;           ///< Bytes of it that are needed to go on.
  std::vector<std::byte> pending_;  ///< Its bytes so far, from earlier pieces.
  bool ended_ = false;
  std::optional<Error> error_;
};

/// Follows the blocks of a stream without reading them, to tell whether the stream is complete. A runtime
/// that ends normally, or is told to stop, writes an end after the last block; one that is killed does not.
class EndWatch {
 public:
  void take(BytesView bytes);
  /// Whether the stream has begun.
  [[nodiscard]] bool begun() const { return offset_ > 0; }
  /// After the last byte: whether the end is missing. False for what is no nettrace stream.
  [[nodiscard]] bool breaks_off() const { return !ended_ && !unreadable_; }

 private:
  void take_head();

  Framing framing_;
  std::uint64_t offset_ = 0;     ///< Position of the frame whose head is awaited.
  std::vector<std::byte> head_;  ///< The bytes of its head so far.
  std::size_t takes_ = 1;        ///< Bytes of the head that are needed.
  std::size_t skip_ = 0;         ///< Remaining bytes of the previous frame.
  bool ended_ = false;
  bool unreadable_ = false;
};

}  // namespace farport::nettrace
