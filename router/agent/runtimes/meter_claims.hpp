// Who reads a runtime's meters, and when such a session may end. A runtime serves one configuration of a
// session at a time (MetricsEventSource), and the agent's own session gives way to those of callers.
//
// A runtime that ends a session while it collects its meters for the first time may never answer again: the
// thread that ends it holds the lock on all EventSources and waits for the collecting one, which may wait for
// that lock to make an EventSource of its own (AggregationManager.Dispose, TplEventSource's constructor; .NET
// 10.0.12). It happens to applications that get little of a processor. So the first collection is waited for.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "ipc/event_pipe.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "router/wanted/counters.hpp"
#include "transport/event.hpp"

namespace farport::router {

class MeterClaims {
 public:
  using Clock = std::chrono::steady_clock;

  /// How long until_stoppable() takes at most.
  static constexpr transport::Milliseconds kMostHold{5000};

  /// `own`: how the agent itself reads meters, if it does.
  MeterClaims(transport::Loop& loop, const Registry& registry, const std::optional<CounterLimits>& own);
  MeterClaims(const MeterClaims&) = delete;
  MeterClaims& operator=(const MeterClaims&) = delete;

  /// A place among those who use a runtime's meters, until it is destroyed.
  using Place = std::shared_ptr<void>;

  /// For a caller's session, before it begins: passes once those that it can't be served beside have ended,
  /// as far as nobody uses them any more, or take too long for it. Null where it clashes with none of the
  /// agent's own.
  transport::Task<Place> claim(std::string runtime_id, MeterReading reading);

  /// For the agent's own: passes while no caller has a claim.
  transport::Task<Place> hold(std::string runtime_id);
  /// Passes once a caller has one. The agent's session is to end then, and its place with it.
  transport::Task<void> claimed(std::string runtime_id);

  /// A session has begun that reads meters. `asked`: when the runtime was asked for it.
  void began(const std::string& runtime_id, ipc::SessionId session, const MeterReading& reading,
             Clock::time_point asked);
  /// To be awaited before a runtime is told to stop any session, while that is still read: passes when it may
  /// be told.
  transport::Task<void> until_stoppable(std::string runtime_id, ipc::SessionId session);

  /// Of how many runtimes something is known.
  [[nodiscard]] std::size_t size() const { return uses_.size(); }

 private:
  /// What has a runtime collect for the first time: the sessions that agree with the first one of them. The
  /// runtime refuses others, but ends them as it ends these.
  struct FirstCollection {
    std::string agreement;
    Clock::time_point due;   ///< It does not begin before.
    Clock::time_point over;  ///< What is dangerous of it has happened by then.
    std::set<std::uint64_t> sessions;
    std::set<std::uint64_t> refused;
    std::size_t ending;  ///< How many ends wait for it.
  };
  struct Use {
    std::size_t claims = 0;
    bool held = false;
    bool has_collected = false;
    std::optional<FirstCollection> first;
  };
  class Ending;

  transport::Task<void> until_given_way(const std::string& runtime_id, const MeterReading& reading);
  [[nodiscard]] bool is_in_use_otherwise(const std::string& runtime_id, const MeterReading& reading) const;
  [[nodiscard]] bool is_claimed(const std::string& runtime_id) const;
  [[nodiscard]] FirstCollection* first_of_runtime(const std::string& runtime_id);
  void has_collected(Use& use);
  void forget_the_ended();

  transport::Loop& loop_;
  const Registry& registry_;
  std::string own_;  ///< What the agent's own sessions agree on. Empty where it has none.
  transport::Condition changed_;
  std::map<std::string, Use> uses_;  ///< By the runtime's id.
};

}  // namespace farport::router
