// Reading: a recording on its way through a reader.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "router/readers/reader_process.hpp"
#include "transport/event.hpp"
#include "transport/fd_stream.hpp"
#include "transport/share.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

/// A reader and its socket. Passes on what a runtime writes, and checks each frame that comes back, since a
/// runtime may have taken the reader over. The reader ends with this object, or when it makes no progress.
class Reading {
 public:
  /// Who reads errors: a caller over HTTP, who could use farport instead, or the user of this farport.
  enum class For : std::uint8_t { caller, user };

  Reading(transport::Loop& loop, ReadingRequest wanted, For whom = For::caller)
      : loop_(loop), wanted_(std::move(wanted)), for_(whom), fed_(loop), taken_(loop), watching_(loop) {}
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  /// Starts the reader. Errors: it can't be started.
  [[nodiscard]] Result<void> begin(const ReaderProcess& readers);

  enum class Passed : std::uint8_t {
    all,        ///< The stream has ended, and all of it was passed on.
    failed,     ///< The stream has failed.
    not_taken,  ///< The reader takes no more; next() says why.
  };
  enum class As : std::uint8_t {
    rest,  ///< The last input: finish() ends it.
    part,  ///< A part: in pieces with lengths, so that more can follow.
  };
  /// Passes on what `from` delivers.
  transport::Task<Passed> pass_on(transport::Stream& from, As as = As::rest);
  /// Writes bytes to the reader. If that fails, the reader takes no more, and next() says why.
  transport::Task<transport::IoStatus> write(std::span<const std::byte> bytes);
  /// Writes bytes to the reader as a piece of a part. None end the part.
  transport::Task<transport::IoStatus> write_piece(std::span<const std::byte> piece);
  /// Writes bytes to the reader as a whole part.
  transport::Task<transport::IoStatus> write_part(std::span<const std::byte> part);
  /// Ends the reader's input.
  transport::Task<void> finish();
  /// Passes on all that `from` delivers, and ends the input. If the stream fails, aborts the reader.
  transport::Task<void> pass_all_on(transport::Stream& from);

  struct Frame {
    ReaderFrame kind{};
    std::string text;
  };
  /// Waits for the reader's next frame; the last one is `end`. Errors: there is no answer, for lack of memory
  /// or another reason, or the reader has sent something malformed.
  transport::Task<Result<Frame>> next();
  /// Ends whatever waits for the reader with this error.
  void abort(const Error& why) { reader_->abort(why); }

 private:
  using Clock = std::chrono::steady_clock;

  transport::Task<Result<Frame>> take_frame();
  transport::Task<void> watch();
  [[nodiscard]] bool stands_still() const;
  [[nodiscard]] Error lost(transport::IoStatus status) const;
  [[nodiscard]] Error no_answer(std::string why) const;

  transport::Loop& loop_;
  ReadingRequest wanted_;
  For for_;
  std::optional<transport::FdStream> reader_;
  std::optional<Lifeline> lifeline_;
  transport::TurnBudget fed_;  ///< Either side may be fast enough to keep the loop busy.
  transport::TurnBudget taken_;
  std::optional<Clock::time_point> unread_since_;   ///< Since when the reader has had work.
  std::optional<Clock::time_point> waiting_since_;  ///< Since when a frame has been awaited.
  transport::TaskSet watching_;
};

/// Where the reader's input comes from.
struct AnswerFrom {
  std::function<transport::Task<void>(Reading&)> feed;  ///< Gives the reader all its input.
  std::function<void()> abandon;                        ///< Breaks that off, because the caller has gone.
};
/// The input is all that `stream` delivers, which must outlive the result.
[[nodiscard]] AnswerFrom answer_from(transport::Stream& stream);

/// Where the answer goes.
struct AnswerTo {
  transport::Stream& stream;
  std::function<void()> begin;         ///< Called once, before the first bytes.
  transport::Event* enough = nullptr;  ///< If not null, set when the reader has enough.
  std::uint64_t* sent = nullptr;       ///< If not null, counts the bytes.
  /// If not null, told what the answer lacks, for people.
  std::function<void(std::string)> lacks{};
};

/// Sends the caller what a reader makes of its input, to the end of both. Errors: there is no complete
/// answer; if it had begun, its stream is aborted. What `from` and `to` refer to must outlive the task.
transport::Task<Result<void>> answer_through_reader(transport::Loop& loop, const ReaderProcess& readers,
                                                    ReadingRequest wanted, AnswerFrom from, AnswerTo to);

}  // namespace farport::router
