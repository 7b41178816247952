// MeterClaims: who reads a runtime's meters, and when such a session may be stopped.
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
#include "router/recordings/counters.hpp"
#include "transport/event.hpp"

namespace farport::router {

/// Coordinates the sessions that read a runtime's meters. A runtime serves one configuration at a time
/// (MetricsEventSource), so the agent's own session gives way to those of callers.
///
/// A runtime that stops a session during its first collection of meters may never answer again. The thread
/// that stops it holds the lock of all EventSources and waits for the collecting thread. That one may wait
/// for the same lock, to make an EventSource of its own (AggregationManager.Dispose, TplEventSource's
/// constructor; .NET 10.0.12). It happens to applications that get little processor time, so a stop waits for
/// the first collection.
class MeterClaims {
 public:
  using Clock = std::chrono::steady_clock;

  /// The longest time that until_stoppable() takes.
  static constexpr transport::Milliseconds kMaxHold{5000};

  /// `own` is how the agent itself reads meters, if it does.
  MeterClaims(transport::Loop& loop, const Registry& registry, const std::optional<CounterLimits>& own);
  MeterClaims(const MeterClaims&) = delete;
  MeterClaims& operator=(const MeterClaims&) = delete;

  /// A claim on a runtime's meters, or the agent's hold on them, until it is destroyed.
  using Place = std::shared_ptr<void>;

  /// For a caller's session, before it begins. Waits until sessions with another configuration have given
  /// way, for a limited time. The place is null if the session agrees with the agent's own, or there is none.
  transport::Task<Place> claim(std::string runtime_id, MeterReading reading);

  /// For the agent's own session. Waits until no caller has a claim.
  transport::Task<Place> hold(std::string runtime_id);
  /// Waits until a caller has a claim. The agent must then end its session, and destroy its place.
  transport::Task<void> claimed(std::string runtime_id);

  /// Call this when a session has begun that reads meters. `asked` is when the runtime was asked for it.
  void began(const std::string& runtime_id, ipc::SessionId session, const MeterReading& reading,
             Clock::time_point asked);
  /// Waits until a runtime may be told to stop a session. Await this before each StopTracing, and go on
  /// reading the session meanwhile.
  transport::Task<void> until_stoppable(std::string runtime_id, ipc::SessionId session);

  /// The number of runtimes about which something is known.
  [[nodiscard]] std::size_t size() const { return uses_.size(); }

 private:
  /// The first collection of a runtime, and the sessions that cause it. Those agree with the first of them.
  /// The runtime refuses to serve others, but stopping one of those is as dangerous.
  struct FirstCollection {
    std::string agreement;
    Clock::time_point due;   ///< It does not begin before.
    Clock::time_point over;  ///< Its dangerous part is over by then.
    std::set<std::uint64_t> sessions;
    std::set<std::uint64_t> refused;
    std::size_t ending;  ///< How many stops wait for it.
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
  std::string own_;  ///< The configuration of the agent's own sessions; empty if there are none.
  transport::Condition changed_;
  std::map<std::string, Use> uses_;  ///< By the runtime's id.
};

}  // namespace farport::router
