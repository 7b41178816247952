#include "router/agent/rules/rules.hpp"

#include <algorithm>
#include <cerrno>
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
/// How long others may hold all places until a firing has failed.
constexpr std::chrono::seconds kLongestWait{60};
constexpr transport::Milliseconds kUntilPlace{2'000};
constexpr transport::Milliseconds kUntilBrokenOff{10'000};
constexpr transport::Milliseconds kLookForHangs{5'000};
constexpr transport::Milliseconds kLookAtMemory{1'000};
constexpr std::chrono::seconds kUntilGroup{30};
/// Further crashes that wait for their turn are dropped.
constexpr std::size_t kMostEnded = 100;
constexpr transport::Milliseconds kEndSessions{2'000};

std::string describe(const Runtime& runtime) {
  return fmt::format("{} (pid {})", runtime.name, runtime.pid);
}

/// Whether the rule may not fire any more for so old an application.
bool is_too_old(const Rule& rule, const Runtime& runtime) {
  const auto began = rule.limits.age ? utc_time(runtime.since) : std::nullopt;
  return began && Firing::Clock::now() - *began > *rule.limits.age;
}

/// Reads a description from the disk.
Task<Result<Artifact>> find_artifact(transport::Loop& loop, std::shared_ptr<const Artifacts> directory,
                                     std::string id) {
  std::function<Result<Artifact>()> find = [directory = std::move(directory), id = std::move(id)] {
    return directory->find(id);
  };
  auto found = co_await transport::offloaded(loop, std::move(find));
  co_return found;
}

/// What a command is told on its standard input.
std::string firing_as_json(const Rule& rule, const Firing& firing, const Runtime& runtime) {
  const json firing_json = {{"rule", rule.name},
                            {"time", utc_text(firing.time)},
                            {"cause", firing.cause},
                            {"runtime", runtime.name},
                            {"pid", runtime.pid},
                            {"host", runtime.host},
                            {"pod", runtime.container.pod},
                            {"container", runtime.container.name},
                            {"artifacts", firing.artifacts}};
  return router::text_of(firing_json) + "\n";
}

/// For the audit.
std::string arguments_of(const Firing& firing) {
  const json arguments = {{"cause", firing.cause}};
  return router::text_of(arguments);
}

/// "412", "0.731"
std::string number_text(double value) {
  return fmt::format("{:.6g}", value);
}

}  // namespace

bool is_about(const Rule& rule, const Runtime& runtime) {
  return (!rule.pid || *rule.pid == runtime.pid) && auth::matches(rule.runtimes, traits_of(runtime));
}

std::optional<std::string> RuleWatch::take(const events::Measurement& measurement,
                                           Lasting::Clock::time_point now, const RulesSettings& settings) {
  const auto& counter = std::get<CounterCondition>(rule_.condition);
  if (!counter.is_about(measurement)) return std::nullopt;
  const auto value = counter.value_of(measurement, settings.interval);
  if (!value) return std::nullopt;
  value_ = value;
  seen_ = now;
  auto known = lasting_.find(measurement.tags);
  if (known == lasting_.end()) {
    if (lasting_.size() == kMostSeries)
      std::erase_if(lasting_, [&](const auto& each) { return now - each.second.noted() > settings.gap(); });
    if (lasting_.size() == kMostSeries) return std::nullopt;
    known = lasting_.emplace(measurement.tags, Lasting()).first;
  }
  if (!known->second.note(counter.holds(*value), now, {rule_.lasts, settings.gap()})) return std::nullopt;
  const std::string series = measurement.tags.empty() ? "" : "{" + measurement.tags + "}";
  return fmt::format("{}[{}]{} was {}: {}", counter.provider, counter.name, series, number_text(*value),
                     rule_.when);
}

std::optional<std::string> RuleWatch::take(const Incident& incident, Lasting::Clock::time_point now) {
  const auto& condition = std::get<IncidentCondition>(rule_.condition);
  heard_ = true;
  if (!incident.near.empty() && !fits_) near_ = incident.near;
  if (incident.count == 0) return std::nullopt;
  fits_ = true;
  near_.clear();
  if (!repeated_.note(incident.count, now, condition.times, condition.within)) return std::nullopt;
  return incident.text;
}

std::optional<std::string> RuleWatch::take(const MemoryUse& use, Lasting::Clock::time_point now) {
  constexpr double kWhole = 100;
  constexpr double kMebibyte = 1 << 20;
  const double percent = kWhole * static_cast<double>(use.used) / static_cast<double>(use.limit);
  value_ = percent;
  seen_ = now;
  const bool much = percent > std::get<MemoryCondition>(rule_.condition).percent;
  if (!lasting_[""].note(much, now, {rule_.lasts, 3 * kLookAtMemory})) return std::nullopt;
  return fmt::format("its control group used {:.0f} of {:.0f} MiB, {:.0f} %: {}",
                     static_cast<double>(use.used) / kMebibyte, static_cast<double>(use.limit) / kMebibyte,
                     percent, rule_.when);
}

std::optional<std::string> RuleWatch::take(Halt halt, Lasting::Clock::time_point now) {
  if (!lasting_[""].note(halt != Halt::none, now, {rule_.lasts, 3 * kLookForHangs})) return std::nullopt;
  return fmt::format("its process is {}", to_string(halt));
}

std::optional<double> RuleWatch::value(Lasting::Clock::time_point now, std::chrono::milliseconds gap) const {
  if (const auto* const condition = std::get_if<IncidentCondition>(&rule_.condition))
    return static_cast<double>(repeated_.count(now, condition->within));
  return now - seen_ <= gap ? value_ : std::nullopt;
}

bool RuleWatch::holds(Lasting::Clock::time_point since) const {
  return std::ranges::any_of(lasting_, [since](const auto& each) { return each.second.holds(since); });
}

Rules::Rules(transport::Loop& loop, Log log, RulesSettings settings, Parts parts)
    : loop_(loop),
      log_(std::move(log)),
      settings_(std::move(settings)),
      parts_(std::move(parts)),
      why_not_("the journal is not read yet"),
      firings_({}),
      written_(loop),
      dumped_(loop),
      watched_(loop, parts_.registry, log_, kMostRuntimes, "the rules",
               [this](const Runtime& runtime) { return watch(runtime); }),
      acting_(loop),
      looking_(loop) {
  for (const Rule& rule : settings_.rules) {
    counts_[rule.name];
    callers_.try_emplace(rule.name, "rule " + rule.name);
    const auto* const incidents = std::get_if<IncidentCondition>(&rule.condition);
    if (incidents == nullptr) continue;
    patterns_.push_back(incidents->pattern);
    of_patterns_.push_back(&rule);
  }
  incidents_ = {"what the rules wait for",
                "[[rules]]",
                ReadingTask::Kind::incidents,
                to_json(patterns_),
                nullptr,
                [this](const Runtime& runtime) { return wanted_incidents(patterns_, runtime.version); }};
}

Task<void> Rules::run() {
  const bool hangs = std::ranges::any_of(settings_.rules, &Rule::is<HangCondition>);
  if (hangs) looking_.spawn(watch_for_hangs());
  const bool memory = std::ranges::any_of(settings_.rules, &Rule::is<MemoryCondition>);
  if (memory) looking_.spawn(watch_memory());
  return watched_.run();
}

Task<void> Rules::end() {
  return watched_.end(kEndSessions);
}

Task<void> Rules::watch_for_hangs() {
  for (;;) {
    co_await transport::sleep(loop_, kLookForHangs);
    const auto now = Lasting::Clock::now();
    for (const auto& [id, watched] : watched_.all()) {
      bool asks = false;
      for (RuleWatch& each : watched->watches) {
        if (!each.rule().is<HangCondition>()) continue;
        asks = true;
        consider(*watched, each, each.take(watched->runtime.halt, now));
      }
      // Where nobody asks a runtime anything, nobody notices that it does not answer.
      if (asks) parts_.halts.unanswered(id);
    }
  }
}

Task<void> Rules::watch_memory() {
  for (;;) {
    std::vector<MemoryLook> looks;
    for (const auto& [id, watched] : watched_.all()) {
      const auto is_about_it = [](const RuleWatch& each) { return each.rule().is<MemoryCondition>(); };
      if (std::ranges::none_of(watched->watches, is_about_it)) continue;
      if (watched->memory != nullptr) looks.push_back({id, watched->memory});
      const auto now = Lasting::Clock::now();
      if (watched->memory != nullptr || now < watched->next_look) continue;
      watched->next_look = now + kUntilGroup;
      looking_.spawn(find_memory_group(id));
    }
    // The kernel may take its time to add such a group up.
    std::function<std::vector<MemoryLook>()> look = [looks = std::move(looks)]() mutable {
      for (MemoryLook& each : looks) {
        each.use = each.group->use();
        each.is_current = each.group->is_current();
      }
      return std::move(looks);
    };
    const auto seen = co_await transport::offloaded(loop_, std::move(look));
    for (const MemoryLook& each : seen) {
      const auto watched = watched_.all().find(each.runtime_id);
      if (watched != watched_.all().end()) note_memory(*watched->second, each);
    }
    co_await transport::sleep(loop_, kLookAtMemory);
  }
}

void Rules::note_memory(Watched& of, const MemoryLook& look) {
  const auto now = Lasting::Clock::now();
  if (!look.is_current) {
    // The process may be in another group by now.
    of.memory = nullptr;
    of.next_look = now;
    of.why_no_memory = "its control group is being looked for";
    return;
  }
  of.why_no_memory = look.use ? "" : "its control group has no memory limit";
  if (!look.use) return;
  for (RuleWatch& each : of.watches) {
    if (each.rule().is<MemoryCondition>()) consider(of, each, each.take(*look.use, now));
  }
}

Task<void> Rules::find_memory_group(std::string id) {
  auto found = co_await parts_.groups.find(id);
  const auto known = watched_.all().find(id);
  if (known == watched_.all().end()) co_return;
  Watched& watched = *known->second;
  if (found) {
    watched.memory = std::move(*found);
  } else if (found.error().cause == ETIMEDOUT) {
    watched.why_no_memory = "looking for its control group takes too long";
  } else if (found.error().cause == ENOENT) {
    watched.why_no_memory = "its control group can't be read from here";
  }
}

Firing::Clock::time_point Rules::oldest() const {
  std::chrono::milliseconds longest{0};
  for (const Rule& rule : settings_.rules) longest = std::max(longest, rule.limits.within);
  // A start is looked up for longer than that.
  return Firing::Clock::now() - std::max<std::chrono::milliseconds>(longest, 2 * kJustStarted);
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
  try_starts();
  try_ends();
}

std::unique_ptr<Rules::Watched> Rules::watch(const Runtime& runtime) {
  auto watched = std::make_unique<Watched>(runtime);
  for (const Rule& rule : settings_.rules) {
    if (!is_about(rule, runtime)) continue;
    watched->watches.emplace_back(rule, runtime);
    if (rule.is<StartCondition>()) note_start(runtime, watched->watches.back());
  }
  // A later change of the runtime may make a rule be about it.
  if (watched->watches.empty()) return nullptr;
  if (settings_.has_about<IncidentCondition>(runtime)) {
    OwnReading::Take take = [this, of = watched.get()](const Reading::Frame& frame) {
      return take_incident(*of, frame);
    };
    watched->incidents = std::make_unique<OwnReading>(loop_, parts_.registry, parts_.groups, parts_.readers,
                                                      log_, incidents_, runtime, std::move(take), [] {});
  }
  return watched;
}

Result<void> Rules::take_incident(Watched& to, const Reading::Frame& frame) {
  if (frame.kind != ReaderFrame::incident) return {};
  const auto incident = incident_from_json(frame.text);
  if (!incident || incident->pattern >= of_patterns_.size())
    return fail("read", "what was seen", "its reader process sent malformed data");
  const Rule* const rule = of_patterns_[incident->pattern];
  for (RuleWatch& each : to.watches)
    if (&each.rule() == rule) consider(to, each, each.take(*incident, Lasting::Clock::now()));
  return {};
}

void Rules::consider(const Watched& watched, RuleWatch& watch, std::optional<std::string> seen) {
  if (!seen || journal_ == nullptr || Lasting::Clock::now() < next_try_) return;
  if (is_too_old(watch.rule(), watched.runtime)) return;
  if (firings_.limited(watch.rule(), watch.subject(), watched.runtime.user, Firing::Clock::now())) return;
  watch.begin_anew();
  fire(watched.runtime, watch.rule(), std::move(*seen));
}

void Rules::note_start(const Runtime& runtime, RuleWatch& watch) {
  // Another start of the agent is none of the runtime.
  const auto began = utc_time(runtime.since);
  const bool is_new = began && Firing::Clock::now() - *began <= kJustStarted;
  watch.start = is_new ? RuleWatch::Start::waits : RuleWatch::Start::over;
  try_start(runtime, watch);
}

void Rules::try_start(const Runtime& runtime, RuleWatch& watch) {
  if (watch.start != RuleWatch::Start::waits || journal_ == nullptr) return;
  const bool has_fired = firings_.has_fired(watch.rule(), runtime.id);
  const auto limited = firings_.limited(watch.rule(), watch.subject(), runtime.user, Firing::Clock::now());
  // It waits for its turn, but not for hours.
  if (!has_fired && limited && !limited->until) return;
  watch.start = limited && !has_fired ? RuleWatch::Start::missed : RuleWatch::Start::over;
  if (!has_fired) fire(runtime, watch.rule(), "it has started");
}

void Rules::try_starts() {
  for (const auto& [id, watched] : watched_.all()) {
    for (RuleWatch& each : watched->watches) try_start(watched->runtime, each);
  }
}

void Rules::take(const Runtime& runtime, const events::Measurement& measurement) {
  const auto known = watched_.all().find(runtime.id);
  if (known == watched_.all().end()) return;
  const auto now = Lasting::Clock::now();
  for (RuleWatch& each : known->second->watches) {
    if (each.rule().is<CounterCondition>())
      consider(*known->second, each, each.take(measurement, now, settings_));
  }
}

void Rules::take_end(const Artifact& kept) {
  if (kept.in_order) return;
  for (const Rule& rule : settings_.rules) {
    if (!rule.is<CrashCondition>() || !is_about(rule, kept.runtime) || is_too_old(rule, kept.runtime))
      continue;
    ended_.emplace_back(&rule, kept);
    if (ended_.size() <= kMostEnded) continue;
    const auto& [oldest, crash] = ended_.front();
    log_->warn("the rule {} does not fire for {}: too many crashes wait", oldest->name,
               describe(crash.runtime));
    ended_.pop_front();
  }
  try_ends();
}

void Rules::try_ends() {
  if (journal_ == nullptr) return;
  std::deque<std::pair<const Rule*, Artifact>> waiting;
  std::swap(waiting, ended_);
  for (auto& [rule, crash] : waiting) {
    const auto limited =
        firings_.limited(*rule, subject_of(crash.runtime), crash.runtime.user, Firing::Clock::now());
    // It waits for its turn, but not for hours.
    if (limited && !limited->until) {
      ended_.emplace_back(rule, std::move(crash));
    } else {
      fire(crash.runtime, *rule, crash.why.empty() ? "it has ended" : crash.why, {crash.id});
    }
  }
}

void Rules::fire(const Runtime& runtime, const Rule& rule, std::string cause,
                 std::vector<std::string> artifacts) {
  if (stopped_) return;
  const std::string subject = subject_of(runtime);
  const auto now = Firing::Clock::now();
  if (const auto limited = firings_.limited(rule, subject, runtime.user, now)) {
    log_->info("the rule {} does not fire for {}: {}", rule.name, describe(runtime), limited->why);
    return;
  }
  firings_.forget_before(oldest());
  Firing firing{0, rule.name, subject, runtime.id, runtime.name, now, std::move(cause)};
  firing.artifacts = std::move(artifacts);
  firing.user = runtime.user;
  const Firing& begun = firings_.begin(std::move(firing));
  log_->info("the rule {} fires for {}: {}", rule.name, describe(runtime), begun.cause);
  acting_.spawn(act(begun.number, rule, runtime));
}

Task<Result<void>> Rules::write_down(std::uint64_t number) {
  // One after the other: what is written anew must not be older than a line before it.
  while (writing_) co_await written_.wait();
  writing_ = true;
  std::vector<Firing> all;
  if (journal_->is_long()) all = firings_.all();
  std::function<Result<void>()> append = [journal = journal_, firing = *firings_.find(number),
                                          all = std::move(all)]() -> Result<void> {
    // What is under way stays so in what is written anew.
    if (!all.empty()) return journal->replace(all);
    return journal->append(firing);
  };
  auto written = co_await transport::offloaded(loop_, std::move(append));
  writing_ = false;
  written_.changed();
  co_return written;
}

Task<void> Rules::act(std::uint64_t number, const Rule& rule, Runtime runtime) {
  AuditEntry entry{"rule", callers_.at(rule.name).caller()};
  entry.command = rule.name;
  entry.runtime = std::make_shared<const Runtime>(runtime);
  entry.allowed = true;
  entry.rule = "rule " + rule.name;
  entry.arguments = arguments_of(*firings_.find(number));
  const AuditOnExit audited(parts_.audit, entry, AuditOnExit::Clock::now());
  // First the journal: whatever happens then, it counts.
  const Result<void> begun = co_await write_down(number);
  if (!begun) {
    why_not_ = begun.error().message();
    log_->error("the rule {} can't fire for {}: {}", rule.name, describe(runtime), why_not_);
    entry.outcome = {Outcome::Kind::failed, why_not_};
    ++counts_[rule.name].failed;
    firings_.take_back(number);
    // A full disk is not full the less for being asked again at once.
    next_try_ = Lasting::Clock::now() + kUntilJournal;
    co_return;
  }
  why_not_.clear();
  ++counts_[rule.name].fired;
  const Result<void> taken = co_await take_all(number, rule, runtime);
  Firing& firing = *firings_.find(number);
  firing.state = taken ? Firing::State::done : Firing::State::failed;
  entry.outcome = {};
  if (!taken) {
    firing.why = taken.error().message();
    ++counts_[rule.name].failed;
    entry.outcome = {Outcome::Kind::failed, firing.why};
    log_->warn("the rule {} did not take all of {}: {}", rule.name, describe(runtime), firing.why);
  }
  const Result<void> ended = co_await write_down(number);
  if (!ended) log_->error("cannot note the end of the rule {}: {}", rule.name, ended.error().message());
  try_starts();
  try_ends();
}

Task<Result<void>> Rules::take_all(std::uint64_t number, const Rule& rule, const Runtime& runtime) {
  std::string failures;
  for (const RuleAction& action : rule.actions) {
    if (stopped_) {
      failures += (failures.empty() ? "" : "; ") + action.text + " was not taken: the agent is being stopped";
      break;
    }
    const bool is_dump = action.kind == "dump";
    // One that hangs holds up its own user's alone.
    while (is_dump && dumping_.contains(runtime.user) && !stopped_) co_await dumped_.wait();
    if (is_dump && stopped_) continue;
    if (is_dump) dumping_.insert(runtime.user);
    Result<void> taken;
    if (action.command) {
      taken = co_await run_command(number, rule, action, runtime);
    } else {
      taken = co_await take_one(number, rule, action, runtime);
    }
    if (is_dump) {
      dumping_.erase(runtime.user);
      dumped_.changed();
    }
    if (!taken) failures += (failures.empty() ? "" : "; ") + taken.error().message();
    // How much it has taken counts, whatever happens next.
    const Result<void> noted = co_await write_down(number);
    if (!noted) log_->error("cannot note what the rule {} has taken: {}", rule.name, noted.error().message());
  }
  if (!failures.empty()) co_return fail("take all for the rule", rule.name, failures);
  co_return Result<void>();
}

Task<tl::expected<Artifact, Refusal>> Rules::begin_one(std::uint64_t number, const Rule& rule,
                                                       const RuleAction& action, const Runtime& runtime) {
  const Caller& own = callers_.at(rule.name).caller();
  const std::string cause = rule.name + ": " + firings_.find(number)->cause;
  const auto give_up = Lasting::Clock::now() + kLongestWait;
  for (;;) {
    auto share = parts_.limits.begin_session(identity_key(own));
    tl::expected<Artifact, Refusal> begun;
    if (share) {
      const auto api = std::make_shared<Api>(parts_.api, std::move(*share), own);
      begun = co_await api->take(action.method, action.target(runtime.id), cause);
    } else {
      begun = tl::unexpected(not_sent(http_status::kTooManyRequests, share.error().message));
    }
    // Others may hold all places for a moment; that is no reason to have fired in vain.
    const bool is_busy = !begun && (begun.error().status == http_status::kTooManyRequests ||
                                    begun.error().status == http_status::kUnavailable);
    if (!is_busy || stopped_ || Lasting::Clock::now() >= give_up) co_return begun;
    co_await transport::sleep(loop_, kUntilPlace);
  }
}

Task<Result<void>> Rules::take_one(std::uint64_t number, const Rule& rule, const RuleAction& action,
                                   const Runtime& runtime) {
  const auto begun = co_await begin_one(number, rule, action, runtime);
  if (!begun) co_return fail("take", action.text, begun.error().why);
  const std::string id = begun->id;
  firings_.find(number)->artifacts.push_back(id);
  // An agent that is killed from now on leaves a cut artifact, which the firing should name.
  const Result<void> noted = co_await write_down(number);
  if (!noted) log_->error("cannot note what the rule {} takes: {}", rule.name, noted.error().message());
  ArtifactRequests& artifacts = parts_.api.artifacts;
  const bool ended = co_await with_deadline(loop_, artifacts.ended(id), action.longest);
  if (!ended) {
    // A runtime may hang, and must not hold up the rule for ever.
    artifacts.break_off(id, "it has taken too long");
    co_await with_deadline(loop_, artifacts.ended(id), kUntilBrokenOff);
  }
  const auto artifact = co_await find_artifact(loop_, parts_.artifacts, id);
  if (!artifact) co_return fail("take", action.text, "it was removed meanwhile");
  Firing& firing = *firings_.find(number);
  firing.bytes += artifact->bytes;
  if (!artifact->gaps.empty()) firing.why += (firing.why.empty() ? "" : "; ") + artifact->gaps;
  if (artifact->state == Artifact::State::under_way)
    co_return fail("take all of", action.text, "the application does not answer");
  if (artifact->state == Artifact::State::cut) co_return fail("take all of", action.text, artifact->why);
  co_return Result<void>();
}

Task<Result<void>> Rules::run_command(std::uint64_t number, const Rule& rule, const RuleAction& action,
                                      const Runtime& runtime) {
  // A copy: others may be forgotten meanwhile.
  const Firing firing = *firings_.find(number);
  std::string file;
  if (!firing.artifacts.empty()) {
    const auto artifact = co_await find_artifact(loop_, parts_.artifacts, firing.artifacts.back());
    if (artifact) file = artifact->file_name();
  }
  const CommandVariables variables{{"rule", rule.name},
                                   {"time", utc_text(firing.time)},
                                   {"host", runtime.host},
                                   {"pod", runtime.container.pod},
                                   {"pid", std::to_string(runtime.pid)},
                                   {"file", file},
                                   {"runtime", runtime.name},
                                   {"container", runtime.container.name}};
  CO_ASSIGN_OR_RETURN(const auto running, parts_.commands->begin(loop_, *action.command, variables));
  const std::string input = firing_as_json(rule, firing, runtime);
  // It may read that or not.
  std::ignore = co_await running->input().write(std::as_bytes(std::span(input)));
  std::ignore = co_await running->input().finish();
  auto ended = co_await with_deadline(loop_, running->result(), action.longest);
  if (!ended) co_return fail("run", "the command of the rule", "it took longer than run.timeout");
  if (!*ended) co_return tl::unexpected(ended->error());
  (*ended)->read_all = true;
  const std::string why = (*ended)->why_failed();
  if (!why.empty()) co_return fail("run", "the command of the rule", why);
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

/// A row with nothing but which runtime it is about.
RuleRow row_about(const Runtime& runtime) {
  RuleRow row;
  row.id = runtime.id;
  row.runtime = runtime.name;
  row.pid = runtime.pid;
  row.host = runtime.host;
  return row;
}

RuleRow suspended_row(const Runtime& runtime) {
  RuleRow row = row_about(runtime);
  row.state = "waits";
  row.why = "the application is suspended at its start, until it is resumed";
  return row;
}

}  // namespace

namespace {

/// What a rule has not seen, though nearly; empty if there is nothing to say.
std::string nothing_but(const RuleWatch& watch) {
  if (watch.near().empty()) return {};
  const bool is_type =
      std::get<IncidentCondition>(watch.rule().condition).pattern.of == IncidentPattern::Of::exceptions;
  return is_type ? "no such exception yet, but " + watch.near() +
                       " (types are compared by case, with their namespaces)"
                 : "no such request yet, but " + watch.near();
}

}  // namespace

std::string Rules::why_blind(const RuleWatch& watch, const Watched& watched) const {
  if (const auto* const incidents = std::get_if<IncidentCondition>(&watch.rule().condition)) {
    const std::string& why = watched.incidents->why_not();
    const bool are_requests = incidents->pattern.of == IncidentPattern::Of::requests;
    if (!why.empty() || !are_requests || watch.heard()) return why;
    return "ASP.NET has had no request yet, or the application does not use it";
  }
  if (watch.rule().is<MemoryCondition>()) return watched.why_no_memory;
  const auto now = Lasting::Clock::now();
  const auto* const counter = std::get_if<CounterCondition>(&watch.rule().condition);
  if (counter == nullptr || watch.value(now, settings_.gap())) return "";
  std::string why = parts_.why_no_values(watched.runtime.id);
  if (!why.empty()) return why;
  why = "the application does not report this, or has not yet";
  // Only EventCounters have such names, by custom; from .NET 9 on System.Runtime is a meter, too.
  if (!counter->event_source && counter->name.find('-') != std::string::npos)
    why += fmt::format("; as an EventCounter it is EventCounters\\{}[{}]", counter->provider, counter->name);
  return why;
}

RuleRow Rules::row(const RuleWatch& each, const Watched& watched) const {
  const auto now = Lasting::Clock::now();
  const auto clock = Firing::Clock::now();
  const Rule& rule = each.rule();
  const Runtime& runtime = watched.runtime;
  RuleRow row = row_about(runtime);
  row.value = each.value(now, settings_.gap());
  row.fired = firings_.count(rule, each.subject(), clock);
  // Others may be in the same container.
  const Firing* const last = firings_.last(rule.name, each.subject());
  if (last != nullptr && (last->runtime_id == runtime.id || last->runtime == runtime.name))
    add_last(row, *last);
  if (!why_not_.empty()) {
    row.state = "can't fire";
    row.why = why_not_;
  } else if (const auto limited = firings_.limited(rule, each.subject(), watched.runtime.user, clock)) {
    row.state = limited->until ? "limited" : "fires";
    row.why = limited->why;
    if (limited->until) row.until = utc_text(*limited->until);
  } else if (is_too_old(rule, runtime)) {
    row.state = "over";
    row.why = "limit.age has passed since the application's start";
  } else if (each.start == RuleWatch::Start::missed) {
    row.state = "missed";
    row.why = "it started while a limit was reached";
  } else if (row.why = why_blind(each, watched); row.why.empty()) {
    row.state = each.holds(now - settings_.gap()) ? "holds" : "watches";
    row.why = nothing_but(each);
  } else {
    row.state = now - watched.found < settings_.gap() ? "waits" : "no value";
  }
  return row;
}

std::vector<RuleReport> Rules::report(const Registry::Filter& filter) const {
  // Nothing is watched before they are resumed.
  const auto suspended = parts_.registry.all(
      [&](const Runtime& runtime) { return runtime.state == RuntimeState::suspended && filter(runtime); });
  std::vector<RuleReport> all;
  for (const Rule& rule : settings_.rules) {
    RuleReport report{rule.name, rule.when, {}, {}};
    for (const RuleAction& action : rule.actions) report.actions.push_back(action.text);
    bool has_hidden = false;
    for (const auto& [id, watched] : watched_.all()) {
      for (const RuleWatch& each : watched->watches) {
        if (&each.rule() != &rule) continue;
        has_hidden = has_hidden || !filter(watched->runtime);
        if (filter(watched->runtime)) report.runtimes.push_back(row(each, *watched));
      }
    }
    for (const RuntimePtr& runtime : suspended) {
      if (is_about(rule, *runtime)) report.runtimes.push_back(suspended_row(*runtime));
    }
    // A rule for others' applications is theirs.
    if (!report.runtimes.empty() || !has_hidden) all.push_back(std::move(report));
  }
  return all;
}

}  // namespace farport::router
