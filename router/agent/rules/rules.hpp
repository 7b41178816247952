// Rules: watches runtimes for what the operator's rules name, and takes what they ask for.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "events/measurements.hpp"
#include "router/agent/api/api.hpp"
#include "router/agent/artifacts/artifacts.hpp"
#include "router/agent/gate/audit.hpp"
#include "router/agent/gate/limits.hpp"
#include "router/agent/gate/own_caller.hpp"
#include "router/agent/rules/firings.hpp"
#include "router/agent/rules/rule.hpp"
#include "router/agent/runtimes/own_session.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "router/wire/rule_report.hpp"
#include "transport/event.hpp"
#include "transport/loop.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

struct RulesSettings {
  std::vector<Rule> rules;
  std::chrono::duration<double> interval{1};  ///< Between measurements of meters.

  /// Whether a rule with a counter is about this runtime.
  [[nodiscard]] bool reads_counters_of(const Runtime& runtime) const;
};

/// A rule and one runtime.
class RuleWatch {
 public:
  RuleWatch(const Rule& rule, const Runtime& runtime) : rule_(rule), subject_(subject_of(runtime)) {}

  [[nodiscard]] const Rule& rule() const { return rule_; }
  [[nodiscard]] const std::string& subject() const { return subject_; }
  /// Notes a measurement. Returns what was seen, in words, once the condition has held for its time.
  [[nodiscard]] std::optional<std::string> take(const events::Measurement& measurement,
                                                Lasting::Clock::time_point now,
                                                std::chrono::duration<double> interval);
  /// The condition must hold for the whole time once more.
  void begin_anew() { lasting_.clear(); }
  /// The value that was seen last; empty if none was for a while.
  [[nodiscard]] std::optional<double> value(Lasting::Clock::time_point now) const;
  /// Whether the condition holds at present, though not long enough.
  [[nodiscard]] bool holds() const;

 private:
  const Rule& rule_;
  std::string subject_;
  std::map<std::string, Lasting> lasting_;  ///< By the tags of a series.
  std::optional<double> value_;
  Lasting::Clock::time_point seen_{};
};

/// How often a rule has fired since the agent began.
struct RuleCounts {
  std::uint64_t fired = 0;
  std::uint64_t failed = 0;  ///< Firings for which not all was taken.
};

class Rules {
 public:
  /// What it uses of the agent. All must outlive it.
  struct Parts {
    Registry& registry;
    ApiParts& api;
    Limits& limits;
    Audit& audit;
    std::shared_ptr<const Artifacts> artifacts;
    /// Why there are no measurements of a runtime; empty if they come.
    std::function<std::string(const std::string& runtime_id)> why_no_values;
  };

  Rules(transport::Loop& loop, Log log, RulesSettings settings, Parts parts);
  Rules(const Rules&) = delete;
  Rules& operator=(const Rules&) = delete;

  /// Follows the registry until it is cancelled.
  transport::Task<void> run() { return watched_.run(); }
  /// Reads the journal; no rule fires before. Waits as long as another agent of this host has rules.
  transport::Task<void> open_journal();
  /// Begins nothing any more.
  void stop() { stopped_ = true; }
  /// Waits until what is being taken has ended.
  transport::Task<void> idle() { return acting_.idle(); }
  /// Gets each measurement.
  void take(const Runtime& runtime, const events::Measurement& measurement);

  /// Each rule with the runtimes that pass the filter.
  [[nodiscard]] std::vector<RuleReport> report(const Registry::Filter& filter) const;
  [[nodiscard]] const std::vector<Rule>& rules() const { return settings_.rules; }
  [[nodiscard]] const std::map<std::string, RuleCounts>& counts() const { return counts_; }

 private:
  /// The watches of one runtime.
  struct Watched {
    explicit Watched(Runtime about) : runtime(std::move(about)), found(Lasting::Clock::now()) {}
    void change(Runtime about) { runtime = std::move(about); }
    transport::Task<void> end() { co_return; }

    Runtime runtime;
    Lasting::Clock::time_point found;
    std::vector<RuleWatch> watches;
  };

  std::unique_ptr<Watched> watch(const Runtime& runtime);
  [[nodiscard]] RuleRow row(const RuleWatch& each, const Watched& watched) const;
  void note_start(const Runtime& runtime, const Rule& rule);
  void fire(const Runtime& runtime, const Rule& rule, std::string cause);
  transport::Task<void> act(std::uint64_t number, const Rule& rule, Runtime runtime);
  transport::Task<Result<void>> take_all(std::uint64_t number, const Rule& rule, const Runtime& runtime);
  transport::Task<Result<void>> take_one(std::uint64_t number, const Rule& rule, const RuleAction& action,
                                         const Runtime& runtime);
  transport::Task<Result<void>> write_down(std::uint64_t number);
  [[nodiscard]] Firing::Clock::time_point oldest() const;

  transport::Loop& loop_;
  Log log_;
  RulesSettings settings_;
  Parts parts_;
  std::shared_ptr<FiringJournal> journal_;  ///< Null until it is open.
  std::string why_not_;                     ///< Why no rule can fire; empty if they can.
  Firings firings_;
  std::map<std::string, RuleCounts> counts_;
  std::map<std::string, OwnCaller> callers_;  ///< By the rules' names, as whom they take.
  bool dumping_ = false;
  bool stopped_ = false;
  transport::Condition dumped_;
  PerRuntime<Watched> watched_;
  transport::TaskSet acting_;
};

}  // namespace farport::router
