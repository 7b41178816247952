// Readers: processes that make an answer of what a runtime writes. A runtime may write anything; whatever it
// makes a reader do, it is one recording that ends.
#pragma once

#include "events/measurement_lines.hpp"
#include "router/agent/helpers/helper_process.hpp"
#include "router/agent/readers/reading_request.hpp"

namespace farport::router {

/// What a reader says: frames of a kind, four bytes of length (little-endian), and so many bytes.
enum class ReaderFrame : char {
  lines = 'l',        ///< Of the answer.
  measurement = 'v',  ///< One, as encode_measurement() has it.
  notice = 't',       ///< What the runtime has to say, for a person.
  enough = 'n',       ///< The recording may be stopped.
  failure = 'f',      ///< Why there is no answer, for a person. Nothing follows.
  memory = 'm',       ///< It takes more memory than the reader may have. Nothing follows.
  end = 'e',          ///< The answer is whole. Nothing follows.
};
inline constexpr std::size_t kFrameHead = 5;
/// Before each piece of what is passed on as a part (Reading::pass_on()): its length, four bytes
/// (little-endian). One of 0 ends the part.
inline constexpr std::size_t kPieceHead = 4;
inline constexpr std::size_t kMostPiece = 32 * 1024;
inline constexpr std::size_t kMostFrame = 64 * 1024;
/// What of a runtime's notices is said, and logged.
inline constexpr std::size_t kMostNotices = events::kMostNotices + 1;
inline constexpr std::size_t kMostNoticeBytes = 256;

/// A reader, as it is talked to.
struct ReaderEnds {
  UniqueFd socket;  ///< What a runtime writes goes there, and frames come back; doesn't block.
  Lifeline lifeline;
};

class ReaderProcess {
 public:
  /// What whoever starts them gives up, in this order, and what each of them does.
  struct GivenUp {
    std::function<void()> secrets;
    std::function<void()> rights;
    std::function<void()> rights_of_reader;  ///< Ends the process where that can't be.
  };
  /// Starts what starts them. Errors: there can be none.
  [[nodiscard]] static Result<ReaderProcess> start(GivenUp given_up);

  [[nodiscard]] const HelperProcess& process() const { return process_; }

  /// Starts a reader. Errors: there can be none.
  [[nodiscard]] Result<ReaderEnds> begin(const ReadingRequest& wanted) const;

 private:
  explicit ReaderProcess(HelperProcess process) : process_(std::move(process)) {}

  HelperProcess process_;
};

}  // namespace farport::router
