#include "cli/commands/top_agent.hpp"

#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include "base/text.hpp"
#include "nettrace/reader.hpp"
#include "router/collect/recording.hpp"
#include "router/recordings/counters.hpp"
#include "router/wire/runtime.hpp"
#include "transport/timer.hpp"

namespace farport::cli {
namespace {

using transport::IoStatus;
using transport::Task;

/// When to ask a runtime again that has refused.
constexpr transport::Milliseconds kBetweenTries{5000};
constexpr std::size_t kHistory = 60;
constexpr std::size_t kCountersPieceBytes = 16 * 1024;

/// Computes vitals from a runtime's counters.
class VitalsHandler final : public nettrace::Handler {
 public:
  VitalsHandler(router::CounterSelection& selection, double interval)
      : selection_(selection), interval_(interval) {}

  void on_trace(const nettrace::TraceHeader& trace) override {
    trace_ = trace;
    reader_.emplace(interval_, trace.processors);
  }
  void on_event(const nettrace::Event& event) override {
    const auto read = decoder_.read(trace_, event);
    if (const auto* const notice = std::get_if<events::MeterNotice>(&read)) notice_ = notice->text;
    const auto* const measurement = std::get_if<events::Measurement>(&read);
    if (measurement == nullptr || !selection_.takes(*measurement)) return;
    if (!measurement->is_meter && measurement->name == "cpu-usage" && !reader_->knows_processors()) {
      notice_ = "its CPU share is unknown: the runtime does not report its number of processors";
    }
    reader_->take(*measurement);
    ++taken_;
  }

  [[nodiscard]] events::Vitals vitals() const { return reader_ ? reader_->vitals() : events::Vitals(); }
  [[nodiscard]] std::size_t taken() const { return taken_; }
  [[nodiscard]] const std::string& notice() const { return notice_; }

 private:
  router::CounterSelection& selection_;
  double interval_;
  events::MeasurementDecoder decoder_{router::kMeterSession};
  nettrace::TraceHeader trace_;
  std::optional<events::VitalsReader> reader_;
  std::size_t taken_ = 0;
  std::string notice_;
};

}  // namespace

FollowedRuntime::FollowedRuntime(router::SessionManager& sessions, router::Runtime runtime,
                                 transport::Milliseconds interval, transport::Condition& changed)
    : sessions_(sessions), interval_(interval), changed_(changed), work_(follow()) {
  now_.runtime = std::move(runtime);
  work_.start();
}

Task<void> FollowedRuntime::follow() {
  for (;;) {
    const Result<void> followed = co_await record();
    now_.vitals = {};
    tell(followed ? "the session has ended" : followed.error().why);
    co_await transport::sleep(sessions_.loop(), kBetweenTries);
  }
}

Task<Result<void>> FollowedRuntime::record() {
  auto selection = router::CounterSelection::parse({});
  if (now_.runtime.state == router::RuntimeState::suspended)
    co_return tl::unexpected(router::is_suspended(now_.runtime));
  router::Recording recording(sessions_, now_.runtime.id);
  CO_RETURN_IF_ERROR(
      co_await recording.begin(selection->wanted(now_.runtime.version, {interval_, 1000, 20})));
  VitalsHandler handler(*selection, std::chrono::duration<double>(interval_).count());
  nettrace::Reader reader(handler);
  std::vector<std::byte> piece(kCountersPieceBytes);
  for (;;) {
    const transport::Io got = co_await recording.stream().read(piece);
    if (got.status == IoStatus::end) co_return Result<void>();
    if (got.status == IoStatus::failed) co_return tl::unexpected(recording.stream().error());
    const std::size_t before = handler.taken();
    CO_RETURN_IF_ERROR(reader.feed(std::span(piece).first(got.bytes)));
    if (handler.taken() > before) show(handler.vitals());
    tell(handler.notice());
  }
}

void FollowedRuntime::tell(std::string trouble) {
  now_.trouble = std::move(trouble);
  changed_.changed();
}

void FollowedRuntime::show(events::Vitals vitals) {
  now_.vitals = std::move(vitals);
  if (!now_.vitals.cpu) return;
  now_.cpu_history.push_back(*now_.vitals.cpu);
  if (now_.cpu_history.size() > kHistory) now_.cpu_history.erase(now_.cpu_history.begin());
}

namespace {

/// How often an agent is asked for its list of runtimes.
constexpr transport::Milliseconds kBetweenLists{2000};
/// Limit for one agent, since each needs a counter session in the application.
constexpr std::size_t kMaxFollowed = 200;

}  // namespace

TopAgent::TopAgent(transport::Loop& loop, router::FoundAgent found, transport::Milliseconds interval,
                   transport::Condition& changed)
    : loop_(loop), agent_(std::move(found.client)), interval_(interval), changed_(changed), listing_(list()) {
  agent_->on_break([this](const Error& why) { say(why.message()); });
  take_list(std::move(found.answer));
  listing_.start();
}

Task<void> TopAgent::leave() {
  listing_.reset();
  followed_.clear();
  co_await agent_->leave();
}

Task<void> TopAgent::list() {
  for (;;) {
    co_await transport::sleep(loop_, kBetweenLists);
    take_list(co_await agent_->get("/v1/runtimes"));
  }
}

void TopAgent::take_list(const Result<std::string>& answer) {
  const Result<void> taken = answer ? follow(*answer) : tl::unexpected(answer.error());
  say(taken ? std::string() : taken.error().message());
}

void TopAgent::say(std::string trouble) {
  trouble_ = std::move(trouble);
  changed_.changed();
}

Result<void> TopAgent::follow(const std::string& list) {
  ASSIGN_OR_RETURN(auto listed, router::runtimes_from_json(list));
  // The id becomes part of a path.
  std::erase_if(listed, [](const router::Runtime& runtime) { return !Guid::parse(runtime.id); });
  std::erase_if(followed_, [&](const auto& each) {
    return std::none_of(listed.begin(), listed.end(),
                        [&](const router::Runtime& runtime) { return runtime.id == each.first; });
  });
  unfollowed_.clear();
  for (router::Runtime& runtime : listed) {
    runtime.address = agent_->address();
    const auto known = followed_.find(runtime.id);
    if (known != followed_.end()) {
      known->second->update(runtime);
    } else if (followed_.size() < kMaxFollowed) {
      followed_.emplace(runtime.id,
                        std::make_unique<FollowedRuntime>(agent_->sessions(), runtime, interval_, changed_));
    } else {
      TopRuntime& each = unfollowed_.emplace_back();
      each.runtime = runtime;
      each.trouble = fmt::format("at most {} runtimes of an agent are followed", kMaxFollowed);
    }
  }
  return {};
}

bool TopAgent::is_told() const {
  return std::all_of(followed_.begin(), followed_.end(),
                     [](const auto& each) { return each.second->now().is_told(); });
}

std::vector<TopRuntime> TopAgent::runtimes() const {
  std::vector<TopRuntime> all;
  for (const auto& [id, followed] : followed_) all.push_back(followed->now());
  all.insert(all.end(), unfollowed_.begin(), unfollowed_.end());
  return all;
}

}  // namespace farport::cli
