// Reading what an agent answers, within limits.
#pragma once

#include <optional>
#include <string>

#include "transport/http2/stream.hpp"

namespace farport::router {

/// What an agent answers at most where it is asked for a list.
inline constexpr std::size_t kMaxAnswer = 16 * 1024 * 1024;

/// The whole body of an answer, if its status is 200, and it has no more than `most` bytes. Errors carry what
/// the agent says; `cause` is the HRESULT for a tool where the agent gives one, else the status.
transport::Task<Result<std::string>> read_answer(transport::Http2Stream& answer,
                                                 std::size_t most = kMaxAnswer);
/// The same for one whose head is there already.
transport::Task<Result<std::string>> read_body(const transport::MessageHead& head, transport::Stream& from,
                                               std::size_t most = kMaxAnswer);

/// The lines of an answer as they come.
class AnswerLines {
 public:
  explicit AnswerLines(transport::Http2Stream& answer) : answer_(answer) {}
  /// Nothing once the answer has ended, or broken a limit.
  transport::Task<std::optional<std::string>> next();
  /// The limit that it has broken.
  [[nodiscard]] const std::optional<Error>& broken() const { return broken_; }

 private:
  transport::Http2Stream& answer_;
  std::string buffered_;
  std::size_t searched_ = 0;  ///< How much of it has no end of a line.
  std::optional<Error> broken_;
};

}  // namespace farport::router
