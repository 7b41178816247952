// farport exceptions: shows the exceptions that an application throws.
#include "events/exceptions.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/output/output.hpp"
#include "cli/output/recorder.hpp"
#include "cli/setup/helpers.hpp"
#include "cli/terminal/table.hpp"
#include "config/resolve.hpp"
#include "events/lines.hpp"
#include "router/collect/recording.hpp"
#include "router/readers/answers.hpp"
#include "router/readers/reader_frames.hpp"
#include "router/recordings/recordings.hpp"
#include "transport/race.hpp"

namespace farport::cli {
namespace {

using std::chrono::steady_clock;
using transport::Milliseconds;
using transport::Task;

/// Limits for exceptions that wait for their methods' names. Further ones are only counted.
constexpr std::size_t kMaxWaiting = 1000;
constexpr std::size_t kMaxWaitingBytes = std::size_t{4} << 20;

/// The shortest pause between two requests for methods' names. It is at least ten times as long as the
/// runtime took for the last one, which slows the application down.
constexpr Milliseconds kBetweenQuestions{1000};
constexpr int kPausesInQuestion = 10;
/// The most addresses to remember as nameless.
constexpr std::size_t kMaxWithout = 100'000;

/// Names of a remote runtime's methods. The session tells those that are compiled while it runs. Others are
/// requested when one is missing.
class MethodNames {
 public:
  /// For the runtime with this id. `sessions` and `readers` must outlive this.
  MethodNames(router::SessionManager& sessions, const router::ReaderProcess& readers, std::string runtime_id)
      : sessions_(sessions), readers_(readers), runtime_id_(std::move(runtime_id)), hurry_(sessions.loop()) {}

  /// Adds a method that the session has told.
  void add(router::NamedMethods::Method method) { methods_.add(std::move(method)); }
  /// Whether any address has no name and was not asked for yet.
  [[nodiscard]] bool lacks(const std::vector<std::uint64_t>& addresses) const;
  /// Asks the runtime, but with a pause after the previous request, since each takes it a moment. Fails if
  /// the runtime does not answer.
  transport::Task<Result<void>> ask(std::vector<std::uint64_t> addresses);
  /// Ends the pause of ask().
  void hurry() { hurry_.set(); }

  /// The method's name for each address; the address in hexadecimal if it is unknown.
  [[nodiscard]] std::vector<std::string> of(const std::vector<std::uint64_t>& addresses) const;

 private:
  router::SessionManager& sessions_;
  const router::ReaderProcess& readers_;
  std::string runtime_id_;
  transport::Event hurry_;
  router::NamedMethods methods_;
  std::unordered_set<std::uint64_t> without_;  ///< Addresses for which the runtime has no name.
  steady_clock::time_point next_question_;
};

bool MethodNames::lacks(const std::vector<std::uint64_t>& addresses) const {
  return std::any_of(addresses.begin(), addresses.end(), [this](std::uint64_t address) {
    return methods_.find(address) == nullptr && !without_.contains(address);
  });
}

Task<Result<void>> MethodNames::ask(std::vector<std::uint64_t> addresses) {
  const auto rest = std::chrono::ceil<Milliseconds>(next_question_ - steady_clock::now());
  if (rest > Milliseconds::zero()) co_await with_deadline(sessions_.loop(), hurry_.wait(), rest);
  const auto asked = steady_clock::now();
  const Result<void> told =
      co_await router::read_methods(sessions_, runtime_id_, readers_, addresses, methods_);
  const auto answered = steady_clock::now();
  next_question_ =
      answered + std::max<steady_clock::duration>(kBetweenQuestions, kPausesInQuestion * (answered - asked));
  for (const std::uint64_t address : addresses) {
    if (methods_.find(address) == nullptr && without_.size() < kMaxWithout) without_.insert(address);
  }
  co_return told;
}

std::vector<std::string> MethodNames::of(const std::vector<std::uint64_t>& addresses) const {
  std::vector<std::string> names;
  for (const std::uint64_t address : addresses) {
    const profile::Frame* const method = methods_.find(address);
    names.push_back(method == nullptr ? fmt::format("{:#x}", address) : method->name);
  }
  return names;
}

/// Counts exceptions that are not printed, and reports them once a second.
class LeftOut {
 public:
  void add(std::uint64_t exceptions) { count_ += exceptions; }
  /// The messages to print now. `last`: there will be no further call.
  std::vector<std::string> take(bool last) {
    const auto now = steady_clock::now();
    if (count_ == 0 || (!last && now - said_ < std::chrono::seconds(1))) return {};
    said_ = now;
    return {fmt::format("{} exceptions were dropped, since they were thrown faster than they could be shown",
                        std::exchange(count_, 0))};
  }

 private:
  std::uint64_t count_ = 0;
  steady_clock::time_point said_;
};

std::string text_of(const events::ThrownException& thrown, const std::vector<std::string>& frames) {
  std::string text = fmt::format("{} {}{}: {}\n", clock_of(thrown.time), escape(thrown.type),
                                 thrown.rethrown ? " (thrown again)" : "", escape(thrown.message));
  for (const std::string& frame : frames) text += "    at " + escape(frame) + "\n";
  return text;
}

/// Sends each thrown exception to the command, and each method that the runtime compiles, which it does
/// before the method can be on a stack.
class ExceptionTeller final : public events::EventFormatter {
 public:
  explicit ExceptionTeller(router::ReaderOutput& to) : to_(to) {}

  void on_trace(const nettrace::TraceHeader& trace) override { trace_ = trace; }
  void on_event(const nettrace::Event& event) override {
    if (auto method = events::read_method(event)) return tell(std::move(*method));
    if (!events::is_exception(event)) return;
    if (at_once_ == kMaxWaiting) return left_out_.add(1);
    const auto thrown = events::read_exception(trace_, event);
    if (!thrown) return;
    ++at_once_;
    to_.write(router::ReaderFrame::exception, router::encode_exception(*thrown));
  }
  void on_dropped(const nettrace::Thread& /*thread*/, std::uint32_t events) override {
    left_out_.add(events);
  }
  std::string drain_lines() override {
    at_once_ = 0;
    return {};
  }
  std::vector<std::string> take_notices() override { return left_out_.take(ended_); }
  Result<std::string> take_end() override {
    ended_ = true;
    return std::string();
  }

 private:
  void tell(events::Method method) {
    profile::Frame frame;
    frame.kind = profile::FrameKind::managed;
    frame.name = std::move(method.name);
    to_.write(router::ReaderFrame::method,
              router::encode_method({method.begin, method.end, std::move(frame)}));
  }

  router::ReaderOutput& to_;
  nettrace::TraceHeader trace_;
  std::size_t at_once_ = 0;
  LeftOut left_out_;
  bool ended_ = false;
};

/// Prints each exception once the methods on its stack have names.
class ExceptionSink final : public EventLines {
 public:
  ExceptionSink(transport::Loop& loop, const router::ReaderProcess& readers,
                const config::RecordingSettings& settings)
      : EventLines(loop, readers, settings, router::wanted_exceptions()),
        readers_(readers),
        json_(settings.format == "json"),
        printing_(loop) {}

  Result<ipc::CollectTracing> prepare(const router::Runtime& runtime) override {
    runtime_id_ = runtime.id;
    if (runtime.native)
      print_message(runtime.name + " is compiled ahead of time: its runtime tells no stacks of exceptions");
    auto wanted = EventLines::prepare(runtime);
    if (wanted) router::add_compiled_methods(*wanted, runtime.version);
    return wanted;
  }
  void begin(router::SessionManager& sessions) override { names_.emplace(sessions, readers_, runtime_id_); }
  void leave() override {
    left_ = true;
    printing_.clear();
  }
  Task<Result<void>> finish() override {
    auto finished = co_await EventLines::finish();
    names_->hurry();
    co_await printing_.idle();
    print_messages(left_out_.take(true));
    co_return printed_ ? finished : printed_;
  }

 private:
  /// An exception that is not printed yet.
  struct Waiting {
    events::ThrownException thrown;
    std::size_t bytes = 0;
    bool asked = false;  ///< The runtime was asked for names on its stack.
  };

  void take_part(const router::Reading::Frame& part) override {
    if (part.kind == router::ReaderFrame::method) {
      if (auto method = router::decode_method(part.text)) names_->add(std::move(*method));
      return;
    }
    auto thrown = router::decode_exception(part.text);
    const bool room = pending_.size() < kMaxWaiting && waiting_bytes_ + part.text.size() <= kMaxWaitingBytes;
    if (!thrown || !room) {
      left_out_.add(1);
    } else {
      waiting_bytes_ += part.text.size();
      pending_.push_back({std::move(*thrown), part.text.size()});
    }
    // Names can only be requested during the session.
    if (printing_.size() == 0 && !left_) printing_.spawn(print_pending());
  }

  Task<void> print_pending() {
    while (!pending_.empty() && printed_) {
      auto addresses = addresses_without_names();
      if (!addresses.empty()) {
        for (Waiting& each : pending_) each.asked = true;
        const Result<void> told = co_await names_->ask(std::move(addresses));
        if (!told) say_nameless(told.error());
      }
      print_messages(left_out_.take(false));
      printed_ = co_await append(drain_lines());
    }
    if (!printed_) give_up(printed_.error());
  }

  /// The addresses on all stacks that the runtime must be asked for.
  [[nodiscard]] std::vector<std::uint64_t> addresses_without_names() const {
    std::vector<std::uint64_t> all;
    for (const Waiting& each : pending_) {
      const auto& stack = each.thrown.stack;
      if (names_->lacks(stack)) all.insert(all.end(), stack.begin(), stack.end());
    }
    return all;
  }

  /// The lines up to the first exception that came while the runtime was asked, and whose stack lacks names.
  std::string drain_lines() {
    std::stable_sort(pending_.begin(), pending_.end(),
                     [](const auto& a, const auto& b) { return a.thrown.time < b.thrown.time; });
    const auto end = std::find_if(pending_.begin(), pending_.end(), [this](const Waiting& each) {
      return !each.asked && names_->lacks(each.thrown.stack);
    });
    std::string lines;
    for (auto each = pending_.begin(); each != end; ++each) {
      waiting_bytes_ -= each->bytes;
      std::vector<std::string> frames = names_->of(each->thrown.stack);
      events::drop_dispatch(frames);
      lines += json_ ? events::to_json(each->thrown, frames) + "\n" : text_of(each->thrown, frames);
    }
    pending_.erase(pending_.begin(), end);
    return lines;
  }

  void say_nameless(const Error& why) {
    if (!std::exchange(said_, true)) print_message("methods have no names: " + why.message());
  }

  const router::ReaderProcess& readers_;
  bool json_;
  std::string runtime_id_;
  std::optional<MethodNames> names_;
  std::vector<Waiting> pending_;
  std::size_t waiting_bytes_ = 0;
  LeftOut left_out_;
  Result<void> printed_;
  bool said_ = false;
  bool left_ = false;  ///< The session has ended.
  transport::TaskSet printing_;
};

int exceptions(const config::RecordingSettings& settings) {
  const auto readers = start_readers(settings.remote, [](const auto&, auto& from, auto& to) {
    ExceptionTeller teller(to);
    return router::make_lines(teller, from, to);
  });
  if (!readers) return report(readers.error());
  transport::Loop loop;
  ExceptionSink sink(loop, *readers, settings);
  return record(settings, sink, loop, Recorder::Progress::hidden);
}

constexpr const char* kExceptionsAbout =
    "Shows each exception that a remote application throws, caught ones included, with the stack where it\n"
    "was thrown. Method names are requested from the runtime, so a new method's stack appears with a\n"
    "short delay.";
constexpr const char* kExceptionsExamples = R"(Examples:
  farport exceptions orders.example:9000
  farport exceptions prod-orders/orders --duration 1m --format json)";

RunCommand add_exceptions_options(CLI::App& options, config::Flags& flags) {
  add_target(options, flags);
  add_format(options, flags.format, "Output format: text or json (one object per line) [text]",
             {"text", "json"});
  add_output(options, flags, kInPlaceOfOutput);
  add_duration(options, flags, kUntilStopped);

  return [&flags] { return run_with(config::resolve_recording(flags, "exceptions"), exceptions); };
}

}  // namespace

const Command kExceptions{"exceptions", "Show the exceptions that a remote application throws, live",
                          kExceptionsAbout, kExceptionsExamples, add_exceptions_options};

}  // namespace farport::cli
