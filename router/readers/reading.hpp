// A recording on its way through a reader.
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

/// A reader and its socket: passes on what a runtime writes, and takes the reader's frames, each checked,
/// since a runtime may have taken its reader over. The reader ends with this, and where it stands still.
class Reading {
 public:
  /// Who is told of errors: a caller, who may ask for the same in another way, or who has asked farport.
  enum class For : std::uint8_t { caller, user };

  Reading(transport::Loop& loop, ReadingRequest wanted, For whom = For::caller)
      : loop_(loop), wanted_(std::move(wanted)), for_(whom), fed_(loop), taken_(loop), watching_(loop) {}
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  /// Errors: there is no reader to be had.
  [[nodiscard]] Result<void> begin(const ReaderProcess& readers);

  enum class Passed : std::uint8_t {
    all,        ///< Up to the stream's end.
    failed,     ///< Up to the stream's failure.
    not_taken,  ///< The reader takes no more; next() says why.
  };
  enum class As : std::uint8_t {
    rest,  ///< Up to finish().
    part,  ///< With lengths, so that more may follow.
  };
  /// Passes on what `from` has.
  transport::Task<Passed> pass_on(transport::Stream& from, As as = As::rest);
  /// Passes on what is there. Not passed on: the reader takes no more; next() says why.
  transport::Task<transport::IoStatus> write(std::span<const std::byte> bytes);
  /// The same, as a part.
  transport::Task<transport::IoStatus> write_part(std::span<const std::byte> part);
  /// There is nothing more to pass on.
  transport::Task<void> finish();
  /// Passes on what `from` has, and nothing more. A stream that fails breaks the reader off.
  transport::Task<void> pass_all_on(transport::Stream& from);

  struct Frame {
    ReaderFrame kind{};
    std::string text;
  };
  /// What the reader says next, the end of its answer at last. Errors: there is no answer, for want of memory
  /// for one, or the reader has sent something malformed.
  transport::Task<Result<Frame>> next();
  /// Breaks off whatever waits for the reader.
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
  transport::TurnBudget fed_;  ///< Either side may be as quick as it likes.
  transport::TurnBudget taken_;
  std::optional<Clock::time_point> unread_since_;   ///< There is something for the reader to do.
  std::optional<Clock::time_point> waiting_since_;  ///< For a frame.
  transport::TaskSet watching_;
};

/// What an answer is made of.
struct AnswerFrom {
  std::function<transport::Task<void>(Reading&)> feed;  ///< Gives the reader all that it is to have.
  std::function<void()> abandon;                        ///< Breaks that off: the caller has gone.
};
/// All that `stream` has, which must outlive it.
[[nodiscard]] AnswerFrom answer_from(transport::Stream& stream);

/// Where it goes.
struct AnswerTo {
  transport::Stream& stream;
  std::function<void()> begin;         ///< Called once, before the first of it.
  transport::Event* enough = nullptr;  ///< Set when the reader says so, where there is one.
  std::uint64_t* sent = nullptr;       ///< Counts bytes, where there is one.
};

/// Sends the caller what a reader makes of what it is fed, up to the end of both. Errors: it has no end. What
/// had begun by then is broken off. What `from` and `to` refer to must outlive it.
transport::Task<Result<void>> answer_through_reader(transport::Loop& loop, const ReaderProcess& readers,
                                                    ReadingRequest wanted, AnswerFrom from, AnswerTo to);

}  // namespace farport::router
