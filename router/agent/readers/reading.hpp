// A recording on its way through a reader.
#pragma once

#include <functional>
#include <string>

#include "router/agent/readers/reader_process.hpp"
#include "transport/event.hpp"
#include "transport/fd_stream.hpp"
#include "transport/task_set.hpp"
#include "transport/turn_budget.hpp"

namespace farport::router {

/// Passes what a runtime writes on to a reader, and takes what that says: frame by frame, since it may be
/// anything. A runtime may have taken its reader over.
class Reading {
 public:
  /// `from`: what the runtime writes; must outlive it.
  Reading(transport::Loop& loop, transport::Stream& from, ReadingRequest wanted)
      : loop_(loop), from_(from), wanted_(std::move(wanted)), fed_(loop), taken_(loop), feeding_(loop) {}
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  /// Errors: there is no reader to be had.
  [[nodiscard]] Result<void> begin(const ReaderProcess& readers);

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
  transport::Task<void> feed();
  [[nodiscard]] Error lost(transport::IoStatus status) const;

  transport::Loop& loop_;
  transport::Stream& from_;
  ReadingRequest wanted_;
  std::optional<transport::FdStream> reader_;
  transport::TurnBudget fed_;  ///< Either side may be as quick as it likes.
  transport::TurnBudget taken_;
  transport::TaskSet feeding_;
};

/// Where an answer goes that a reader makes.
struct AnswerTo {
  transport::Stream& stream;
  std::function<void()> begin;  ///< Called once, before the first of it.
  transport::Event& enough;     ///< Set when the reader has all that it is for.
};

/// Sends the caller what a reader makes of what the runtime writes, up to the end of both. Errors: it has no
/// end. What had begun by then is broken off. `from` must outlive it, and what `to` refers to.
transport::Task<Result<void>> answer_through_reader(transport::Loop& loop, const ReaderProcess& readers,
                                                    ReadingRequest wanted, transport::Stream& from,
                                                    AnswerTo to);

}  // namespace farport::router
