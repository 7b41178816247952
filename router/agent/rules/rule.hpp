// Rule: what to take of a runtime when something happens to it, and within which limits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "auth/rules.hpp"
#include "base/error.hpp"
#include "events/measurements.hpp"
#include "router/recordings/incidents.hpp"
#include "router/wire/runtime.hpp"
#include "transport/timer.hpp"

namespace farport::router {

/// A value of a counter or of a meter that is above or below a bound, or between two.
struct CounterCondition {
  std::string provider;
  std::string name;
  bool event_source = false;                ///< Not of a meter of that name.
  std::map<std::string, std::string> tags;  ///< The series must have all of these.
  std::optional<double> quantile;           ///< Of a histogram: 0.95. Empty: how many values a second.
  std::optional<double> above{};
  std::optional<double> below{};

  /// Whether the measurement is one of this counter.
  [[nodiscard]] bool is_about(const events::Measurement& measurement) const;
  /// The value to compare: growth and counts per second, all else as it is. Empty: there is none, or it is no
  /// number. `interval`:
  /// between measurements of meters.
  [[nodiscard]] std::optional<double> value_of(const events::Measurement& measurement,
                                               std::chrono::duration<double> interval) const;
  [[nodiscard]] bool holds(double value) const {
    return (!above || value > *above) && (!below || value < *below);
  }
};

/// Log entries, exceptions or requests.
struct IncidentCondition {
  IncidentPattern pattern;
  std::size_t times = 1;                ///< So many
  std::chrono::milliseconds within{0};  ///< in this time.
};

/// A control group that uses much of the memory that it is limited to.
struct MemoryCondition {
  double percent = 0;
};

/// A process that stands still or does not answer.
struct HangCondition {};

/// A process that starts.
struct StartCondition {};

/// A process that ends, but with exit code 0.
struct CrashCondition {};

/// One thing that a rule takes, as a request of the API.
struct RuleAction {
  std::string text;                      ///< As it is configured: "trace 30s".
  std::string kind;                      ///< "trace"
  std::string method;                    ///< Of the request.
  std::string query;                     ///< "seconds=30"; may be empty.
  std::chrono::milliseconds longest{};   ///< After which it is broken off.
  std::optional<std::size_t> command{};  ///< Instead of all that: the operator's, by its number.

  /// The request's target for this runtime.
  [[nodiscard]] std::string target(const std::string& runtime) const {
    return "/v1/runtimes/" + runtime + "/" + kind + "?keep=true" + (query.empty() ? "" : "&" + query);
  }
};

/// How often a rule may fire.
struct RuleLimits {
  std::size_t times = 1;                 ///< In the window, for one subject.
  std::size_t total = 10;                ///< In the window, for all.
  std::size_t at_once = 1;               ///< For how many subjects at a time.
  std::chrono::milliseconds within{0};   ///< The window.
  std::optional<std::uint64_t> bytes{};  ///< What its artifacts may take on the disk, in the window.
  /// Minutes of the day, in the agent's time zone, from when to when it may fire; the second may be smaller.
  std::optional<std::pair<int, int>> hours{};
  std::optional<std::chrono::milliseconds> age{};  ///< How long after a runtime's start it may fire.
};

struct Rule {
  std::string name;
  std::string when;  ///< The condition in words.
  auth::RuntimeFilter runtimes;
  std::optional<std::uint64_t> pid{};  ///< Of the only one.
  std::variant<StartCondition, CounterCondition, IncidentCondition, MemoryCondition, HangCondition,
               CrashCondition>
      condition;
  std::chrono::milliseconds lasts{0};  ///< How long it must be so.
  std::vector<RuleAction> actions;     ///< In turn.
  RuleLimits limits;

  template <typename Condition>
  [[nodiscard]] bool is() const {
    return std::holds_alternative<Condition>(condition);
  }
};

/// Whether something has been so often within a time.
class Repeated {
 public:
  using Clock = std::chrono::steady_clock;

  /// Notes that it was so `count` times at `now`. Returns whether it was `times` times `within`.
  bool note(std::uint64_t count, Clock::time_point now, std::size_t times, std::chrono::milliseconds within);
  void begin_anew() { seen_.clear(); }
  /// How often it was so within this time.
  [[nodiscard]] std::size_t count(Clock::time_point now, std::chrono::milliseconds within) const;

 private:
  std::deque<Clock::time_point> seen_;
};

/// Whether something has been so for a time.
class Lasting {
 public:
  using Clock = std::chrono::steady_clock;

  /// How long something must be so, and for how long it may go unnoted until it is not known any more.
  struct Times {
    std::chrono::milliseconds lasts{};
    std::chrono::milliseconds gap{};
  };
  /// Notes whether it is so at `now`. Returns whether it has been for long enough.
  bool note(bool holds, Clock::time_point now, Times times);
  /// It must be so for the whole time once more.
  void begin_anew() { since_.reset(); }
  /// Whether it is so, and that was noted after `since`.
  [[nodiscard]] bool holds(Clock::time_point since) const { return since_ && noted_ >= since; }
  [[nodiscard]] Clock::time_point noted() const { return noted_; }

 private:
  std::optional<Clock::time_point> since_;
  Clock::time_point noted_{};
};

/// For whom a rule's limits count: a container, or without one a user's processes of a name. It stays the
/// same when an application is started again there, and is never that of another user.
[[nodiscard]] std::string subject_of(const Runtime& runtime);

}  // namespace farport::router
