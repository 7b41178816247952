// TopAgent: an agent's runtimes in `farport top`, with their vitals.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "events/measurements.hpp"
#include "router/mirror/find_agents.hpp"
#include "router/mirror/session_manager.hpp"
#include "router/wire/runtime.hpp"

namespace farport::cli {

/// A runtime's current state and vitals.
struct TopRuntime {
  router::Runtime runtime;
  events::Vitals vitals;
  std::vector<double> cpu_history;  ///< Latest values, the newest last.
  std::string trouble;              ///< Why there are no values; empty if there are.

  /// Whether there is anything to show; a rate needs two values.
  [[nodiscard]] bool is_told() const { return vitals.cpu || !note().empty(); }
  /// The problem of the runtime or its values; may be empty.
  [[nodiscard]] std::string note() const {
    return runtime.halt == router::Halt::none ? trouble : std::string(to_string(runtime.halt));
  }
};

/// Follows one remote runtime's vitals by a session of its counters.
class FollowedRuntime {
 public:
  /// Follows the runtime from now on, across breaks of the session. `interval`: of the values. `changed`:
  /// notified of everything new; must outlive this.
  FollowedRuntime(router::SessionManager& sessions, router::Runtime runtime, transport::Milliseconds interval,
                  transport::Condition& changed);
  FollowedRuntime(const FollowedRuntime&) = delete;
  FollowedRuntime& operator=(const FollowedRuntime&) = delete;

  /// Takes the runtime's latest description from the agent's list.
  void update(const router::Runtime& runtime) { now_.runtime = runtime; }
  [[nodiscard]] const TopRuntime& now() const { return now_; }

 private:
  transport::Task<void> follow();
  transport::Task<Result<void>> record();
  void show(events::Vitals vitals);
  void tell(std::string trouble);

  router::SessionManager& sessions_;
  transport::Milliseconds interval_;
  transport::Condition& changed_;
  TopRuntime now_;
  transport::Task<void> work_;
};

class TopAgent {
 public:
  /// Follows an agent's runtimes from now on, across breaks of its session, with a counter session for each
  /// that reports every `interval`. `found`: with its answer to GET /v1/runtimes. `changed`: notified of
  /// everything new; must outlive this.
  TopAgent(transport::Loop& loop, router::FoundAgent found, transport::Milliseconds interval,
           transport::Condition& changed);
  TopAgent(const TopAgent&) = delete;
  TopAgent& operator=(const TopAgent&) = delete;

  transport::Task<void> leave();

  [[nodiscard]] std::vector<TopRuntime> runtimes() const;
  /// Whether each runtime has values, or a reason why it has none.
  [[nodiscard]] bool is_told() const;
  /// Why the session is broken or the list can't be read; empty if all is well.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  transport::Task<void> list();
  void take_list(const Result<std::string>& answer);
  [[nodiscard]] Result<void> follow(const std::string& list);
  void say(std::string trouble);

  transport::Loop& loop_;
  std::unique_ptr<router::AgentClient> agent_;
  transport::Milliseconds interval_;
  transport::Condition& changed_;
  std::map<std::string, std::unique_ptr<FollowedRuntime>> followed_;  ///< By id.
  std::vector<TopRuntime> unfollowed_;
  std::string trouble_;
  transport::Task<void> listing_;
};

}  // namespace farport::cli
