// Answer: what a handler of the API answers with. Whatever it takes of the agent is on its caller's account.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "router/agent/connections/response.hpp"
#include "router/agent/gate/limits.hpp"
#include "transport/http2/stream.hpp"
#include "transport/stream.hpp"
#include "transport/task.hpp"
#include "transport/timer.hpp"

namespace farport::router {

/// The next bytes of what is sent; nothing after the end.
using NextPiece = std::function<transport::Task<Result<std::vector<std::byte>>>()>;

/// Appends the next item of a JSON array. Returns whether there was one.
using AppendItem = std::function<bool(std::string& to)>;

/// The right to read some files for one answer, for as long as it exists. Only an Answer gives it.
class FilePlace {
 public:
  FilePlace(FilePlace&&) = default;
  FilePlace& operator=(FilePlace&&) = delete;

 private:
  friend class Answer;
  explicit FilePlace(transport::Semaphore::Place place) : place_(std::move(place)) {}
  transport::Semaphore::Place place_;
};

/// A handler can't reach what carries the answer, so it can't forget the account: a text is made in the
/// caller's turn of the loop, and counted in its memory until it is sent; a list is made as it is read; files
/// are read by few answers of an identity at once; and an answer of which nothing is read for a while is
/// broken off.
class Answer {
 public:
  /// What is waited for so long by a reader who takes nothing is not sent any more.
  static constexpr transport::Milliseconds kLongestIdle{30'000};

  /// Both must outlive this.
  Answer(Response& carrier, AnswerAccount& account) : carrier_(carrier), account_(account) {}
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  ~Answer() = default;

  /// See Response.
  [[nodiscard]] const transport::MessageHead& request() const { return carrier_.request(); }
  [[nodiscard]] WayToStore* way_to_store() const { return carrier_.way_to_store(); }
  [[nodiscard]] transport::Share& time() const { return account_.time; }

  /// Passes once the caller is gone.
  [[nodiscard]] auto gone() const { return carrier_.stream().gone(); }
  /// Calls `action` when the caller goes, for as long as the result lives.
  template <typename Action>
  [[nodiscard]] transport::WhenGone<Action> when_gone(Action action) const {
    return transport::WhenGone<Action>(carrier_.stream(), std::move(action));
  }

  /// Counts memory that is used for the answer, in place of what was counted before.
  void count_kept(std::size_t bytes) { carrier_.count_kept(bytes); }

  /// The whole answer is the text that `make` returns.
  transport::Task<void> text(std::string type, transport::HeaderFields more,
                             std::function<std::string()> make);
  /// The same, of JSON, without more fields in its head.
  transport::Task<void> json(std::function<std::string()> make);
  /// A JSON array. Its items are made only as fast as they are read, so that an unread answer keeps a few of
  /// them, however long the array is. `more` are fields of its head.
  transport::Task<void> array(transport::HeaderFields more, AppendItem append_item);
  /// A refusal.
  transport::Task<void> refuse(Refusal refusal) { return answer_refused(carrier_, std::move(refusal)); }

  /// Waits for the right to read files. Nothing if the caller goes meanwhile.
  transport::Task<std::optional<FilePlace>> place_for_files();

  /// A place for an answer that is recorded in a runtime. Refused: the caller has as many as it may have.
  [[nodiscard]] tl::expected<CountedSlot, Refusal> place_for_recording();

  /// Begins an answer of lines, which event() sends, or of pieces as they come from a runtime, a reader or a
  /// file, which are written to passed_on() and kept nowhere.
  void begin(transport::HeaderFields fields);
  /// Sends a line. Returns what became of it.
  transport::Task<transport::IoStatus> event(std::string line);
  /// Says what the answer lacks though nothing is cut, such as names. If the answer is kept, its artifact
  /// says so.
  void lacks(std::string what) { carrier_.lacks(std::move(what)); }
  /// What is passed on goes there.
  [[nodiscard]] transport::Stream& passed_on() const { return carrier_.stream(); }
  /// Begins a diagnostic connection. A tool may stop reading for as long as it likes: its place is counted.
  void begin_connection(transport::HeaderFields fields);
  /// Breaks it off.
  void abort(Error why) { carrier_.stream().abort(std::move(why)); }

 private:
  /// Breaks the answer off when its reader has taken nothing for a while.
  class IdleWatch final : transport::Timer {
   public:
    IdleWatch(transport::Loop& loop, Response& carrier);

   private:
    void on_time() override;

    Response& carrier_;
    std::uint64_t taken_ = 0;
    int looks_ = 0;  ///< In a row that have found nothing taken.
  };

  Response& carrier_;
  AnswerAccount& account_;
  std::unique_ptr<IdleWatch> idle_;  ///< Once there is something to read.
};

}  // namespace farport::router
