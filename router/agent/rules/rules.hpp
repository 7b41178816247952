// Rules: watches runtimes for what the operator's rules name, and takes what they ask for.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "events/measurements.hpp"
#include "router/agent/api/api.hpp"
#include "router/agent/artifacts/artifacts.hpp"
#include "router/agent/commands/command_process.hpp"
#include "router/agent/gate/audit.hpp"
#include "router/agent/gate/limits.hpp"
#include "router/agent/gate/own_caller.hpp"
#include "router/agent/own_readings/own_reading.hpp"
#include "router/agent/rules/firings.hpp"
#include "router/agent/rules/rule.hpp"
#include "router/agent/runtimes/halt_watch.hpp"
#include "router/agent/runtimes/memory_group.hpp"
#include "router/agent/runtimes/own_session.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "router/wire/rule_report.hpp"
#include "transport/event.hpp"
#include "transport/loop.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

/// Whether the rule is about this runtime.
[[nodiscard]] bool is_about(const Rule& rule, const Runtime& runtime);

struct RulesSettings {
  std::vector<Rule> rules;
  std::chrono::duration<double> interval{1};  ///< Between measurements of meters.

  /// What was not heard for so long is not known.
  [[nodiscard]] std::chrono::milliseconds gap() const {
    return std::chrono::ceil<std::chrono::milliseconds>(3 * interval) + std::chrono::seconds(10);
  }
  /// Whether a rule with such a condition is about this runtime.
  template <typename Condition>
  [[nodiscard]] bool has_about(const Runtime& runtime) const {
    return std::ranges::any_of(
        rules, [&](const Rule& rule) { return rule.is<Condition>() && is_about(rule, runtime); });
  }
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
                                                const RulesSettings& settings);
  /// Notes what has fitted the rule's pattern. Returns the same once it was so often.
  [[nodiscard]] std::optional<std::string> take(const Incident& incident, Lasting::Clock::time_point now);
  /// Notes how much of its memory the process's group uses. Returns the same once that was too much for its
  /// time.
  [[nodiscard]] std::optional<std::string> take(const MemoryUse& use, Lasting::Clock::time_point now);
  /// Notes whether the process stands still or does not answer. Returns the same once that has lasted.
  [[nodiscard]] std::optional<std::string> take(Halt halt, Lasting::Clock::time_point now);
  /// The condition must hold for the whole time once more.
  void begin_anew() {
    lasting_.clear();
    repeated_.begin_anew();
  }
  /// The value that was seen last; empty if none was for longer than `gap`.
  [[nodiscard]] std::optional<double> value(Lasting::Clock::time_point now,
                                            std::chrono::milliseconds gap) const;
  /// What was seen that is not what the rule waits for, but nearly, while that was not seen; else empty.
  [[nodiscard]] const std::string& near() const { return near_; }
  /// Whether there was anything yet that the rule looks at.
  [[nodiscard]] bool heard() const { return heard_; }
  /// Whether the condition holds, by what was noted after `since`, though perhaps not long enough.
  [[nodiscard]] bool holds(Lasting::Clock::time_point since) const;

  /// Of a rule about starts.
  enum class Start : std::uint8_t {
    over,
    waits,   ///< For its turn.
    missed,  ///< A limit was reached.
  } start = Start::over;

 private:
  const Rule& rule_;
  std::string subject_;
  std::map<std::string, Lasting> lasting_;  ///< By the tags of a series; of a hang, one.
  Repeated repeated_;
  bool heard_ = false;  ///< Whether there was anything that the rule looks at.
  bool fits_ = false;   ///< Something was what it waits for.
  std::string near_;
  std::optional<double> value_;
  Lasting::Clock::time_point seen_{};
};

/// How often a rule has fired since the agent began.
struct RuleCounts {
  std::uint64_t fired = 0;
  std::uint64_t failed = 0;  ///< Firings for which not all was taken.
};

/// What was seen of a runtime's memory group.
struct MemoryLook {
  std::string runtime_id;
  MemoryGroupPtr group;
  bool is_current = false;  ///< Whether the process is still in it.
  std::optional<MemoryUse> use{};
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
    Readers readers;
    HaltWatch& halts;
    MemoryGroups& groups;
    std::shared_ptr<const CommandProcess> commands;  ///< Of the rules that run one.
    /// Why there are no measurements of a runtime; empty if they come.
    std::function<std::string(const std::string& runtime_id)> why_no_values;
  };

  Rules(transport::Loop& loop, Log log, RulesSettings settings, Parts parts);
  Rules(const Rules&) = delete;
  Rules& operator=(const Rules&) = delete;

  /// Follows the registry until it is cancelled.
  transport::Task<void> run();
  /// Reads the journal; no rule fires before. Waits as long as another agent of this host has rules.
  transport::Task<void> open_journal();
  /// Begins nothing any more.
  void stop() {
    stopped_ = true;
    dumped_.changed();
  }
  /// Waits until what is being taken has ended.
  transport::Task<void> idle() { return acting_.idle(); }
  /// Ends the rules' own sessions with runtimes, and waits for that a limited time.
  transport::Task<void> end();
  /// Gets each measurement.
  void take(const Runtime& runtime, const events::Measurement& measurement);
  /// Gets what was kept of each runtime that has ended.
  void take_end(const Artifact& kept);

  /// Each rule with the runtimes that pass the filter.
  [[nodiscard]] std::vector<RuleReport> report(const Registry::Filter& filter) const;
  [[nodiscard]] const std::vector<Rule>& rules() const { return settings_.rules; }
  [[nodiscard]] const std::map<std::string, RuleCounts>& counts() const { return counts_; }

 private:
  /// The watches of one runtime.
  struct Watched {
    explicit Watched(Runtime about) : runtime(std::move(about)), found(Lasting::Clock::now()) {}
    void change(Runtime about) { runtime = std::move(about); }
    transport::Task<void> end() {
      if (incidents != nullptr) co_await incidents->end();
    }

    Runtime runtime;
    Lasting::Clock::time_point found;
    std::vector<RuleWatch> watches;
    std::unique_ptr<OwnReading> incidents{};  ///< Null if no rule needs it.
    MemoryGroupPtr memory{};                  ///< Null if no rule needs it, or it was not found.
    std::string why_no_memory = "its control group is being looked for";
    Lasting::Clock::time_point next_look{};  ///< For the group.
  };

  std::unique_ptr<Watched> watch(const Runtime& runtime);
  [[nodiscard]] RuleRow row(const RuleWatch& each, const Watched& watched) const;
  void note_start(const Runtime& runtime, RuleWatch& watch);
  void try_start(const Runtime& runtime, RuleWatch& watch);
  void try_starts();
  Result<void> take_incident(Watched& to, const Reading::Frame& frame);
  /// Fires if something was seen, and the limits allow it.
  void consider(const Watched& watched, RuleWatch& watch, std::optional<std::string> seen);
  transport::Task<void> watch_for_hangs();
  transport::Task<void> watch_memory();
  transport::Task<void> find_memory_group(std::string id);
  void note_memory(Watched& of, const MemoryLook& look);
  void try_ends();
  /// Why a rule's condition is not seen at present, or empty.
  [[nodiscard]] std::string why_blind(const RuleWatch& watch, const Watched& watched) const;
  /// `artifacts`: ids of what is there already.
  void fire(const Runtime& runtime, const Rule& rule, std::string cause,
            std::vector<std::string> artifacts = {});
  transport::Task<void> act(std::uint64_t number, const Rule& rule, Runtime runtime);
  transport::Task<Result<void>> take_all(std::uint64_t number, const Rule& rule, const Runtime& runtime);
  /// Begins it, and waits for a place if there is none.
  transport::Task<tl::expected<Artifact, Refusal>> begin_one(std::uint64_t number, const Rule& rule,
                                                             const RuleAction& action,
                                                             const Runtime& runtime);
  transport::Task<Result<void>> take_one(std::uint64_t number, const Rule& rule, const RuleAction& action,
                                         const Runtime& runtime);
  transport::Task<Result<void>> run_command(std::uint64_t number, const Rule& rule, const RuleAction& action,
                                            const Runtime& runtime);
  transport::Task<Result<void>> write_down(std::uint64_t number);
  [[nodiscard]] Firing::Clock::time_point oldest() const;

  transport::Loop& loop_;
  Log log_;
  RulesSettings settings_;
  std::vector<IncidentPattern> patterns_;  ///< Of all rules with incidents, in their order.
  std::vector<const Rule*> of_patterns_;   ///< Whose each is.
  OwnReadingSettings incidents_;
  Parts parts_;
  std::shared_ptr<FiringJournal> journal_;  ///< Null until it is open.
  std::string why_not_;                     ///< Why no rule can fire; empty if they can.
  Lasting::Clock::time_point next_try_{};   ///< After the journal could not be written.
  Firings firings_;
  std::map<std::string, RuleCounts> counts_;
  std::map<std::string, OwnCaller> callers_;  ///< By the rules' names, as whom they take.
  bool writing_ = false;
  transport::Condition written_;
  std::set<uid_t> dumping_;  ///< The users of whose runtimes a dump is being taken.
  bool stopped_ = false;
  transport::Condition dumped_;
  PerRuntime<Watched> watched_;
  transport::TaskSet acting_;
  std::deque<std::pair<const Rule*, Artifact>> ended_;  ///< Crashes that wait for their turn.
  transport::TaskSet looking_;                          ///< For hangs and memory.
};

}  // namespace farport::router
