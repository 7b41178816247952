// farport exceptions: what a remote application throws.
#include "events/exceptions.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/event_lines.hpp"
#include "cli/method_names.hpp"
#include "cli/recorder.hpp"
#include "cli/text.hpp"
#include "events/json.hpp"
#include "router/wanted/recordings.hpp"

namespace farport::cli {
namespace {

using transport::Task;

/// That wait for the names of their methods, and the frames on all of their stacks. What is thrown beyond
/// that is only counted.
constexpr std::size_t kMostWaiting = 1000;
constexpr std::size_t kMostWaitingFrames = 100'000;

std::string text_of(const events::ThrownException& thrown, const std::vector<std::string>& frames) {
  std::string text = fmt::format("{} {}{}: {}\n", clock_of(thrown.time), escape(thrown.type),
                                 thrown.rethrown ? " (thrown again)" : "", escape(thrown.message));
  for (const std::string& frame : frames) text += "    at " + escape(frame) + "\n";
  return text;
}

class ExceptionLines final : public events::LineMaker {
 public:
  explicit ExceptionLines(bool json) : json_(json) {}

  void on_trace(const nettrace::TraceHeader& trace) override { trace_ = trace; }
  void on_event(const nettrace::Event& event) override {
    if (!events::is_exception(event)) return;
    if (pending_.size() == kMostWaiting || frames_ + event.stack.size() > kMostWaitingFrames) {
      ++left_out_;
      return;
    }
    auto thrown = events::read_exception(trace_, event);
    if (!thrown) return;
    frames_ += thrown->stack.size();
    pending_.push_back(std::move(*thrown));
  }
  void on_dropped(const nettrace::Thread& /*thread*/, std::uint32_t events) override { left_out_ += events; }

  void name_by(const MethodNames& names) { names_ = &names; }
  [[nodiscard]] bool pending() const { return !pending_.empty(); }
  /// The addresses of all stacks that have not been printed.
  [[nodiscard]] std::vector<std::uint64_t> addresses() const {
    std::vector<std::uint64_t> all;
    for (const auto& thrown : pending_) all.insert(all.end(), thrown.stack.begin(), thrown.stack.end());
    return all;
  }

  std::string take_lines() override {
    std::stable_sort(pending_.begin(), pending_.end(),
                     [](const auto& a, const auto& b) { return a.time < b.time; });
    std::string lines;
    for (const events::ThrownException& thrown : pending_) {
      std::vector<std::string> frames = names_->of(thrown.stack);
      events::drop_dispatch(frames);
      lines += json_ ? events::to_json(thrown, frames) + "\n" : text_of(thrown, frames);
    }
    pending_.clear();
    frames_ = 0;
    return lines;
  }
  std::vector<std::string> take_notices() override {
    const std::uint64_t left_out = std::exchange(left_out_, 0);
    if (left_out == 0) return {};
    return {fmt::format("{} more were thrown than could be kept up with", left_out)};
  }

 private:
  bool json_;
  nettrace::TraceHeader trace_;
  const MethodNames* names_ = nullptr;
  std::vector<events::ThrownException> pending_;
  std::size_t frames_ = 0;  ///< On their stacks.
  std::uint64_t left_out_ = 0;
};

/// Prints each exception once the methods of its stack have names.
class ExceptionSink final : public EventLines {
 public:
  ExceptionSink(transport::Loop& loop, const config::RecordingSettings& settings, ExceptionLines& lines)
      : EventLines(loop, settings, router::wanted_exceptions(), lines), lines_(lines), printing_(loop) {}

  Result<ipc::CollectTracing> prepare(const router::Runtime& runtime) override {
    runtime_id_ = runtime.id;
    return EventLines::prepare(runtime);
  }
  void begin(router::SessionManager& sessions) override {
    names_.emplace(sessions, runtime_id_);
    lines_.name_by(*names_);
  }
  Task<Result<void>> take(std::shared_ptr<const Piece> piece) override {
    const Result<void> fed = feed(*piece);
    if (!fed) co_return fed;
    if (lines_.pending() && printing_.size() == 0) printing_.spawn(print_pending());
    co_return printed_;
  }
  Task<Result<void>> finish() override {
    names_->hurry();
    co_await printing_.idle();
    co_return printed_;
  }

 private:
  Task<void> print_pending() {
    while (lines_.pending() && printed_) {
      auto addresses = lines_.addresses();
      if (names_->lacks(addresses)) {
        const Result<void> told = co_await names_->ask(std::move(addresses));
        if (!told) say_nameless(told.error());
      }
      printed_ = co_await print_lines();
    }
  }

  void say_nameless(const Error& why) {
    if (!std::exchange(said_, true)) print_message("methods have no names: " + why.message());
  }

  ExceptionLines& lines_;
  std::string runtime_id_;
  std::optional<MethodNames> names_;
  Result<void> printed_;
  bool said_ = false;
  transport::TaskSet printing_;
};

}  // namespace

int exceptions(const config::RecordingSettings& settings) {
  transport::Loop loop;
  ExceptionLines lines(settings.format == "json");
  ExceptionSink sink(loop, settings, lines);
  return record(settings, sink, loop, Recorder::Progress::hidden);
}

}  // namespace farport::cli
