#include "router/agent/rules/rules.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "auth/policy.hpp"
#include "router/wire/json_members.hpp"
#include "transport/offload.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Task;

constexpr transport::Milliseconds kUntilJournal{5'000};
/// Further runtimes have no rules.
constexpr std::size_t kMostRuntimes = 100;
/// Further series of one counter are not looked at.
constexpr std::size_t kMostSeries = 1000;
/// A runtime that began so long before it was found has not just started.
constexpr std::chrono::seconds kJustStarted{60};
/// What was not heard for so long is not known.
constexpr std::chrono::seconds kStale{15};
/// After this time a counter that has not reported may not exist.
constexpr std::chrono::seconds kUntilValue{10};

bool is_about(const Rule& rule, const Runtime& runtime) {
  return auth::matches(rule.runtimes, traits_of(runtime));
}

std::string describe(const Runtime& runtime) {
  return fmt::format("{} (pid {})", runtime.name, runtime.pid);
}

/// "412", "0.731"
std::string number_text(double value) {
  return fmt::format("{:.6g}", value);
}

}  // namespace

bool RulesSettings::reads_counters_of(const Runtime& runtime) const {
  return std::ranges::any_of(
      rules, [&runtime](const Rule& rule) { return rule.counter && is_about(rule, runtime); });
}

std::optional<std::string> RuleWatch::take(const events::Measurement& measurement,
                                           Lasting::Clock::time_point now,
                                           std::chrono::duration<double> interval) {
  const CounterCondition& counter = *rule_.counter;
  if (!counter.is_about(measurement)) return std::nullopt;
  const auto value = counter.value_of(measurement, interval);
  if (!value) return std::nullopt;
  value_ = *value;
  seen_ = now;
  auto known = lasting_.find(measurement.tags);
  if (known == lasting_.end()) {
    if (lasting_.size() == kMostSeries) return std::nullopt;
    known = lasting_.emplace(measurement.tags, Lasting()).first;
  }
  if (!known->second.note(counter.holds(*value), now, rule_.lasts)) return std::nullopt;
  const std::string series = measurement.tags.empty() ? "" : "{" + measurement.tags + "}";
  return fmt::format("{}[{}]{} was {}: {}", counter.provider, counter.name, series, number_text(*value),
                     rule_.when);
}

std::optional<double> RuleWatch::value(Lasting::Clock::time_point now) const {
  return now - seen_ <= kStale ? value_ : std::nullopt;
}

bool RuleWatch::holds() const {
  return std::ranges::any_of(lasting_, [](const auto& each) { return each.second.since().has_value(); });
}

Rules::Rules(transport::Loop& loop, Log log, RulesSettings settings, Parts parts)
    : loop_(loop),
      log_(std::move(log)),
      settings_(std::move(settings)),
      parts_(std::move(parts)),
      why_not_("the journal is not read yet"),
      firings_({}),
      dumped_(loop),
      watched_(loop, parts_.registry, log_, kMostRuntimes, "the rules",
               [this](const Runtime& runtime) { return watch(runtime); }),
      acting_(loop) {
  for (const Rule& rule : settings_.rules) {
    counts_[rule.name];
    callers_.try_emplace(rule.name, "rule " + rule.name);
  }
}

Firing::Clock::time_point Rules::oldest() const {
  std::chrono::milliseconds longest{0};
  for (const Rule& rule : settings_.rules) longest = std::max(longest, rule.limits.within);
  return Firing::Clock::now() - longest;
}

Task<void> Rules::open_journal() {
  for (;;) {
    const auto past = std::make_shared<std::vector<Firing>>();
    std::function<Result<std::shared_ptr<FiringJournal>>()> open =
        [past, directory = parts_.artifacts->path(), host = parts_.registry.host(),
         oldest = oldest()]() -> Result<std::shared_ptr<FiringJournal>> {
      ASSIGN_OR_RETURN(auto journal, FiringJournal::open(directory, host, oldest, *past));
      return std::shared_ptr<FiringJournal>(std::move(journal));
    };
    auto opened = co_await transport::offloaded(loop_, std::move(open));
    if (opened) {
      journal_ = std::move(*opened);
      firings_ = Firings(std::move(*past));
      why_not_.clear();
      break;
    }
    const std::string before = std::exchange(why_not_, opened.error().message());
    if (before != why_not_) log_->warn("no rule can fire: {}; trying again", why_not_);
    co_await transport::sleep(loop_, kUntilJournal);
  }
  for (const auto& [id, watched] : watched_.all()) {
    for (const RuleWatch& each : watched->watches)
      if (!each.rule().counter) note_start(watched->runtime, each.rule());
  }
}

std::unique_ptr<Rules::Watched> Rules::watch(const Runtime& runtime) {
  auto watched = std::make_unique<Watched>(runtime);
  for (const Rule& rule : settings_.rules) {
    if (!is_about(rule, runtime)) continue;
    watched->watches.emplace_back(rule, runtime);
    if (!rule.counter) note_start(runtime, rule);
  }
  return watched;
}

void Rules::note_start(const Runtime& runtime, const Rule& rule) {
  if (journal_ == nullptr) return;
  // Another start of the agent is none of the runtime.
  const auto began = utc_time(runtime.since);
  const bool is_new = began && Firing::Clock::now() - *began <= kJustStarted;
  if (!is_new || firings_.has_fired(rule, runtime.id)) return;
  fire(runtime, rule, "it has started");
}

void Rules::take(const Runtime& runtime, const events::Measurement& measurement) {
  const auto known = watched_.all().find(runtime.id);
  if (known == watched_.all().end()) return;
  const auto now = Lasting::Clock::now();
  for (RuleWatch& each : known->second->watches) {
    if (!each.rule().counter) continue;
    auto seen = each.take(measurement, now, settings_.interval);
    if (!seen || journal_ == nullptr || firings_.limited(each.rule(), each.subject(), Firing::Clock::now()))
      continue;
    each.begin_anew();
    fire(runtime, each.rule(), std::move(*seen));
  }
}

void Rules::fire(const Runtime& runtime, const Rule& rule, std::string cause) {
  if (stopped_) return;
  const std::string subject = subject_of(runtime);
  const auto now = Firing::Clock::now();
  if (const auto limited = firings_.limited(rule, subject, now)) {
    log_->info("the rule {} does not fire for {}: {}", rule.name, describe(runtime), limited->why);
    return;
  }
  firings_.forget_before(oldest());
  const Firing& begun =
      firings_.begin({0, rule.name, subject, runtime.id, describe(runtime), now, std::move(cause)});
  log_->info("the rule {} fires for {}: {}", rule.name, describe(runtime), begun.cause);
  acting_.spawn(act(begun.number, rule, runtime));
}

Task<Result<void>> Rules::write_down(std::uint64_t number) {
  std::function<Result<void>()> append = [journal = journal_, firing = *firings_.find(number)] {
    return journal->append(firing);
  };
  auto written = co_await transport::offloaded(loop_, std::move(append));
  co_return written;
}

Task<void> Rules::act(std::uint64_t number, const Rule& rule, Runtime runtime) {
  AuditEntry entry{"rule", callers_.at(rule.name).caller()};
  entry.command = rule.name;
  entry.runtime = std::make_shared<const Runtime>(runtime);
  entry.allowed = true;
  entry.rule = "rule " + rule.name;
  entry.arguments = router::text_of(json{{"cause", firings_.find(number)->cause}});
  const AuditOnExit audited(parts_.audit, entry, AuditOnExit::Clock::now());
  // First the journal: whatever happens then, it counts.
  const Result<void> begun = co_await write_down(number);
  if (!begun) {
    log_->error("the rule {} can't fire for {}: {}", rule.name, describe(runtime), begun.error().message());
    entry.outcome = {Outcome::Kind::failed, begun.error().message()};
    firings_.take_back(number);
    co_return;
  }
  ++counts_[rule.name].fired;
  const Result<void> taken = co_await take_all(number, rule, runtime);
  Firing& firing = *firings_.find(number);
  firing.state = taken ? Firing::State::done : Firing::State::failed;
  if (!taken) {
    firing.why = taken.error().message();
    ++counts_[rule.name].failed;
    entry.outcome = {Outcome::Kind::failed, firing.why};
    log_->warn("the rule {} did not take all of {}: {}", rule.name, describe(runtime), firing.why);
  }
  const Result<void> ended = co_await write_down(number);
  if (!ended) log_->error("cannot note the end of the rule {}: {}", rule.name, ended.error().message());
}

Task<Result<void>> Rules::take_all(std::uint64_t number, const Rule& rule, const Runtime& runtime) {
  std::string failures;
  for (const RuleAction& action : rule.actions) {
    if (stopped_) {
      failures += (failures.empty() ? "" : "; ") + action.text + " was not taken: the agent is being stopped";
      break;
    }
    const bool is_dump = action.kind == "dump";
    while (is_dump && dumping_) co_await dumped_.wait();
    if (is_dump) dumping_ = true;
    const Result<void> taken = co_await take_one(number, rule, action, runtime);
    if (is_dump) {
      dumping_ = false;
      dumped_.changed();
    }
    if (!taken) failures += (failures.empty() ? "" : "; ") + taken.error().message();
  }
  if (!failures.empty()) co_return fail("take all for the rule", rule.name, failures);
  co_return Result<void>();
}

Task<Result<void>> Rules::take_one(std::uint64_t number, const Rule& rule, const RuleAction& action,
                                   const Runtime& runtime) {
  const Caller& own = callers_.at(rule.name).caller();
  auto share = parts_.limits.begin_session(identity_key(own));
  if (!share) co_return fail("take", action.text, share.error().message);
  const auto api = std::make_shared<Api>(parts_.api, std::move(*share), own);
  const std::string cause = rule.name + ": " + firings_.find(number)->cause;
  const auto begun = co_await api->take(action.method, action.target(runtime.id), cause);
  if (!begun) co_return fail("take", action.text, begun.error().why);
  firings_.find(number)->artifacts.push_back(begun->id);
  co_await parts_.api.artifacts.ended(begun->id);
  std::function<Result<Artifact>()> find = [directory = parts_.artifacts, id = begun->id] {
    return directory->find(id);
  };
  CO_ASSIGN_OR_RETURN(const Artifact artifact, co_await transport::offloaded(loop_, std::move(find)));
  firings_.find(number)->bytes += artifact.bytes;
  if (artifact.state == Artifact::State::cut) co_return fail("take all of", action.text, artifact.why);
  co_return Result<void>();
}

namespace {

/// What was seen and taken last.
void add_last(RuleRow& row, const Firing& last) {
  row.last = utc_text(last.time);
  row.cause = last.cause;
  row.outcome = to_string(last.state);
  row.failure = last.why;
  row.artifacts = last.artifacts;
}

}  // namespace

RuleRow Rules::row(const RuleWatch& each, const Watched& watched) const {
  const auto now = Lasting::Clock::now();
  const auto clock = Firing::Clock::now();
  const Rule& rule = each.rule();
  const Runtime& runtime = watched.runtime;
  RuleRow row{runtime.id, runtime.name, runtime.pid, runtime.host, {}, {}, {}, each.value(now),
              0,          {},           {},          {},           {}, {}};
  row.fired = firings_.count(rule, each.subject(), clock);
  if (const Firing* const last = firings_.last(rule.name, each.subject())) add_last(row, *last);
  if (const auto limited = firings_.limited(rule, each.subject(), clock)) {
    row.state = limited->until ? "limited" : "fires";
    row.why = limited->why;
    if (limited->until) row.until = utc_text(*limited->until);
  } else if (!rule.counter) {
    row.state = "watches";
    row.why = "this runtime has started";
  } else if (row.value) {
    row.state = each.holds() ? "holds" : "watches";
  } else if (now - watched.found < kUntilValue) {
    row.state = "waits";
    row.why = "no value has come yet";
  } else {
    row.state = "no value";
    row.why = parts_.why_no_values(runtime.id);
    if (row.why.empty()) row.why = "the application does not report this, or has not yet";
  }
  return row;
}

std::vector<RuleReport> Rules::report(const Registry::Filter& filter) const {
  std::vector<RuleReport> all;
  for (const Rule& rule : settings_.rules) {
    RuleReport& report = all.emplace_back(RuleReport{rule.name, rule.when, {}, {}});
    for (const RuleAction& action : rule.actions) report.actions.push_back(action.text);
    for (const auto& [id, watched] : watched_.all()) {
      if (!filter(watched->runtime)) continue;
      for (const RuleWatch& each : watched->watches) {
        if (&each.rule() != &rule) continue;
        report.runtimes.push_back(row(each, *watched));
        if (why_not_.empty()) continue;
        report.runtimes.back().state = "can't fire";
        report.runtimes.back().why = why_not_;
      }
    }
  }
  return all;
}

}  // namespace farport::router
