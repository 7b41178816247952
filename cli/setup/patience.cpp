#include "cli/setup/patience.hpp"

#include <chrono>

#include <fmt/core.h>

#include "transport/timer.hpp"

namespace farport::cli {
namespace {

using transport::Milliseconds;
using transport::Task;

using Clock = std::chrono::steady_clock;

/// When to report that there is no answer.
constexpr Milliseconds kFirstWord{5000};
/// How long before that to ask the agent about the runtime.
constexpr Milliseconds kLookLimit{1000};
/// How often to check a busy runtime after the time limit.
constexpr Milliseconds kBetweenLooks{5000};
/// Factor for the time limit of a busy runtime.
constexpr int kBusyTimes = 10;

auto seconds_of(Milliseconds time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

}  // namespace

Patience::Patience(transport::Loop& loop, RuntimeSession& session, const config::PatienceSettings& settings,
                   Work work, std::function<void(const std::string&)> say)
    : loop_(loop),
      session_(session),
      settings_(settings),
      work_(work),
      say_(std::move(say)),
      said_(loop),
      given_up_(loop) {}

Task<void> Patience::watch(router::Runtime runtime) {
  const auto began = Clock::now();
  const auto waited = [began] { return std::chrono::duration_cast<Milliseconds>(Clock::now() - began); };
  if (settings_.limit > kFirstWord) {
    co_await transport::sleep(loop_, kFirstWord - kLookLimit);
    co_await look(runtime);
    co_await transport::sleep(loop_, kFirstWord - waited());
    if (answered_) co_return;
    say_what_is(runtime);
    said_.set();
  }
  for (Milliseconds until = settings_.limit;; until += kBetweenLooks) {
    co_await transport::sleep(loop_, until - kLookLimit - waited());
    co_await look(runtime);
    co_await transport::sleep(loop_, until - waited());
    if (answered_) co_return;
    waited_ = until;
    if (settings_.given || !is_busy() || until >= settings_.limit * kBusyTimes) break;
  }
  said_.set();
  given_up_.set();
}

Task<void> Patience::look(const router::Runtime& runtime) {
  condition_.reset();
  const auto answer = co_await with_deadline(
      loop_, session_.ask("GET", "/v1/runtimes/" + runtime.id + "/process"), kLookLimit);
  if (!answer || !*answer) co_return;
  auto condition = router::process_condition_from_json(**answer);
  if (condition) condition_ = *condition;
}

Task<std::optional<router::ProcessCondition>> Patience::condition(const router::Runtime& runtime) {
  co_await look(runtime);
  co_return condition_;
}

Task<std::optional<Error>> Patience::check_stopped(const router::Runtime& runtime) {
  co_await look(runtime);
  if (!condition_ || condition_->halt == router::Halt::none) co_return std::nullopt;
  router::ConditionWords words = router::describe(*condition_, runtime);
  co_return Error{"get an answer from", runtime.name, std::move(words.text), std::move(words.hint)};
}

bool Patience::is_busy() const {
  if (!condition_) return false;
  return condition_->is_busy() || (work_ == Work::dump && condition_->traced);
}

void Patience::say_what_is(const router::Runtime& runtime) {
  std::string line =
      fmt::format("{} (pid {}) has not answered for {} s", runtime.name, runtime.pid, seconds_of(kFirstWord));
  if (condition_) {
    const router::ConditionWords words = router::describe(*condition_, runtime);
    line += ": " + words.text;
    if (!words.hint.empty()) line += "; " + words.hint;
  }
  say_(line);
  if (work_ == Work::stacks) return say_("sampling its threads from outside the process instead");
  if (is_busy() && !settings_.given) {
    return say_(
        fmt::format("waiting for up to {} s; Ctrl-C cancels", seconds_of(settings_.limit * kBusyTimes)));
  }
  say_(fmt::format(
      "waiting for up to {} s (--timeout); farport stacks and farport profile --event wall show its threads "
      "without its help, except for method names, and farport doctor looks for other problems",
      seconds_of(settings_.limit)));
}

Error Patience::silence(const router::Runtime& runtime) const {
  Error error{"get an answer from",
              runtime.name,
              fmt::format("there was none for {} s", seconds_of(waited_)),
              {},
              Cause::silence()};
  if (!condition_) return error;
  router::ConditionWords words = router::describe(*condition_, runtime);
  error.why += ", and " + words.text;
  error.hint = std::move(words.hint);
  if (condition_->is_busy()) {
    error.hint =
        "farport profile shows what it does without its help; unless it is a garbage collection, its "
        "diagnostics are dead, and only a restart helps";
  }
  return error;
}

}  // namespace farport::cli
