// StreamJoin: makes one stream of two that are from the same process, such as events and the names for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "nettrace/event_rows.hpp"
#include "nettrace/framing.hpp"

namespace farport::nettrace {

/// The result holds the first stream's blocks as they are, and then the second one's with numbers of its own
/// for kinds of events and for threads. The streams are of format 4 or 5.
class StreamJoin {
 public:
  StreamJoin() = default;
  StreamJoin(const StreamJoin&) = delete;
  StreamJoin& operator=(const StreamJoin&) = delete;

  /// Takes the next bytes of the first stream. Returns those of the result that are ready. Fails if the
  /// stream is broken or of another format; what was returned before can be ended nevertheless.
  [[nodiscard]] Result<std::vector<std::byte>> take_first(BytesView bytes);
  /// The same for the second stream, after all of the first. Fails also if it is of another process.
  [[nodiscard]] Result<std::vector<std::byte>> take_second(BytesView bytes);
  /// The last bytes of the result. It is whole then, whatever is missing of the streams.
  [[nodiscard]] std::vector<std::byte> end();

 private:
  [[nodiscard]] Result<void> add_first(const Frame& frame, BytesView bytes);
  [[nodiscard]] Result<void> add_second(const Frame& frame, BytesView bytes);
  [[nodiscard]] Result<void> begin_second(const TraceHeader& trace);
  [[nodiscard]] Result<void> note_numbers(EventRows rows);
  [[nodiscard]] Result<void> add_renumbered(BlockKind kind, EventRows rows);
  [[nodiscard]] Result<std::uint32_t> renumbered(std::uint32_t definition, const EventRows& rows) const;
  void add_block(BlockKind kind, BytesView content);
  void add_sequence_point(std::uint64_t time);
  std::vector<std::byte> take_ready();

  FrameCutter first_;
  FrameCutter second_;
  std::optional<TraceHeader> trace_;   ///< The first stream's.
  std::uint32_t last_definition_ = 0;  ///< The highest number of a kind of events in the first stream.
  std::uint64_t last_thread_ = 0;      ///< Likewise of a thread.
  bool has_blocks_ = false;            ///< Whether a block of the first stream has come.
  std::uint64_t offset_ = 0;           ///< How much of the result was returned.
  std::vector<std::byte> ready_;
};

}  // namespace farport::nettrace
