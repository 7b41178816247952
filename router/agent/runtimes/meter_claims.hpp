// Who reads a runtime's meters. It serves one configuration of a session at a time (MetricsEventSource), and
// the agent's own session gives way to those of callers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "ipc/event_pipe.hpp"
#include "transport/event.hpp"

namespace farport::router {

class MeterClaims {
 public:
  /// Whether a session can't be served beside the agent's own.
  using Clashes = std::function<bool(const ipc::CollectTracing&)>;

  MeterClaims(transport::Loop& loop, Clashes clashes);
  MeterClaims(const MeterClaims&) = delete;
  MeterClaims& operator=(const MeterClaims&) = delete;

  /// A place among those who use a runtime's meters, until it is destroyed.
  using Place = std::shared_ptr<void>;

  /// For a caller's session, before it begins: passes once the agent's own has given way, or takes too long
  /// for it. Null where the two don't clash.
  transport::Task<Place> claim(std::string runtime_id, ipc::CollectTracing session);

  /// For the agent's own: passes while no caller has a claim.
  transport::Task<Place> hold(std::string runtime_id);
  /// Passes once a caller has one. The agent's session is to end then, and its place with it.
  transport::Task<void> claimed(std::string runtime_id);

 private:
  struct Use {
    std::size_t claims = 0;
    bool held = false;
  };

  transport::Task<void> until_given_way(const std::string& runtime_id);
  [[nodiscard]] bool is_claimed(const std::string& runtime_id) const;
  void tidy(const std::string& runtime_id);

  transport::Loop& loop_;
  Clashes clashes_;
  transport::Condition changed_;
  std::map<std::string, Use> uses_;  ///< By the runtime's id.
};

}  // namespace farport::router
