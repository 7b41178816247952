// Reads a nettrace stream while it comes.
//
// The formats are described in Microsoft's documents NetTraceFormat_v5.md (formats 4 and 5) and
// NetTraceFormat.md (format 6), in the repository of PerfView. Sections that comments name are theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "nettrace/block_reader.hpp"
#include "nettrace/framing.hpp"

namespace farport::nettrace {

/// Takes the stream's bytes as they come, and calls its handler for whatever is complete. Holds one block at
/// most that is not, and what later blocks may refer to, within the limits of limits.hpp, whatever the stream
/// says.
class Reader {
 public:
  /// The handler must outlive the reader.
  explicit Reader(Handler& handler) : blocks_(handler) {}

  /// Takes the next bytes: as many as there are. Fails where the stream is broken, and says where; whatever
  /// is complete before that has been handed over. After a failure it fails in the same way for ever.
  [[nodiscard]] Result<void> feed(BytesView bytes);

  /// Whether the stream has come to its proper end. Nothing may follow it.
  [[nodiscard]] bool ended() const { return ended_; }

  /// To be asked when no more bytes come: fails where the stream has failed, and where it breaks off.
  [[nodiscard]] Result<void> finish() const;

 private:
  /// Takes the frame at the beginning of `begin`, and returns its size; 0 where it has not come whole.
  [[nodiscard]] Result<std::size_t> take_frame(BytesView begin);
  [[nodiscard]] Result<void> feed_frames(BytesView bytes);
  void drop_pending();

  Framing framing_;
  BlockReader blocks_;
  std::uint64_t offset_ = 0;        ///< Of the frame that is being waited for.
  std::optional<Frame> frame_;      ///< That one, once it is known.
  std::size_t takes_ = 0;           ///< How many bytes of it there must be to go on.
  std::vector<std::byte> pending_;  ///< What has come of it, in earlier pieces.
  bool ended_ = false;
  std::optional<Error> error_;
};

}  // namespace farport::nettrace
