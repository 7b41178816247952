// StreamJoin: makes one stream of several that are from the same process, such as events and the names for
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "nettrace/event_rows.hpp"
#include "nettrace/framing.hpp"

namespace farport::nettrace {

/// A kind of events without a description of its fields.
struct EventKind {
  std::string_view provider;  ///< ASCII.
  std::uint32_t event_id = 0;
  std::uint32_t version = 0;
  std::uint32_t level = 0;
  std::uint64_t keywords = 0;
};

/// An event that is added.
struct NewEvent {
  std::vector<std::byte> payload;
  std::optional<std::uint64_t> time{};  ///< In ticks; without one, when the first stream began.
  std::uint64_t thread = 0;             ///< The operating system's id; 0: that of no other event.
  std::uint32_t stack = 0;              ///< See add_stacks(); 0: none.
};

/// The result holds the first stream's blocks as they are, and then those of each other stream with numbers
/// of its own for kinds of events and for threads, and without stacks. The streams are of format 4 or 5.
class StreamJoin {
 public:
  StreamJoin() = default;
  StreamJoin(const StreamJoin&) = delete;
  StreamJoin& operator=(const StreamJoin&) = delete;

  /// Takes the next bytes of the current stream. Returns those of the result that are ready. Fails if the
  /// stream is broken, of another format, or of another process than the first. Then the rest of it must be
  /// left out; what was returned before is good.
  [[nodiscard]] Result<std::vector<std::byte>> take(BytesView bytes);
  /// Goes on with another stream. The first one must have begun.
  void next_stream();
  /// Goes on with events of a new kind. Fails if there is no number left for it.
  [[nodiscard]] Result<void> add_kind(const EventKind& kind);
  /// Adds stacks for the events that are added next, in place of those before. They have numbers from 1 on.
  void add_stacks(const std::vector<std::vector<std::uint64_t>>& stacks);
  /// Adds a block of events of that kind. Returns what is ready.
  [[nodiscard]] std::vector<std::byte> add_events(const std::vector<NewEvent>& events);
  /// The first stream's header; nothing before that has come.
  [[nodiscard]] const std::optional<TraceHeader>& trace() const { return trace_; }
  /// When the first event of the first stream came, in ticks; the greatest number if there is none.
  [[nodiscard]] std::uint64_t first_time() const { return first_time_; }
  /// The last bytes of the result. It is whole then, whatever is missing of the streams.
  [[nodiscard]] std::vector<std::byte> end();

 private:
  [[nodiscard]] Result<void> add_first(const Frame& frame, BytesView bytes);
  [[nodiscard]] Result<void> add_later(const Frame& frame, BytesView bytes);
  [[nodiscard]] Result<void> begin_later(const TraceHeader& trace);
  [[nodiscard]] Result<void> note_rows(BlockKind kind, EventRows rows);
  [[nodiscard]] Result<void> add_renumbered(BlockKind kind, EventRows rows);
  [[nodiscard]] Result<std::uint32_t> renumbered(std::uint32_t definition, const EventRows& rows);
  void add_block(BlockKind kind, BytesView content);
  void add_sequence_point(std::uint64_t time);
  std::vector<std::byte> take_ready();

  FrameCutter stream_;
  bool is_first_ = true;
  std::optional<TraceHeader> trace_;       ///< The first stream's.
  std::uint32_t last_definition_ = 0;      ///< The highest number of a kind of events in the result.
  std::uint64_t last_thread_ = 0;          ///< Likewise of a thread.
  std::uint32_t definitions_before_ = 0;   ///< What last_definition_ was when the current stream began.
  std::uint64_t threads_before_ = 0;       ///< Likewise last_thread_.
  std::uint64_t first_time_ = UINT64_MAX;  ///< Of the first stream's events, in ticks.
  std::uint64_t last_time_ = 0;            ///< Likewise.
  EventHeader added_;                      ///< Of the event that was added last.
  bool has_blocks_ = false;                ///< Whether a block of the first stream has come.
  std::uint64_t offset_ = 0;               ///< How much of the result was returned.
  std::vector<std::byte> ready_;
};

}  // namespace farport::nettrace
