// Metrics: what the agent counts as it goes. metrics_text.hpp writes it out.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "router/stream/relay.hpp"
#include "transport/loop.hpp"

namespace farport::router {

/// A counter for each value of a label. Values must come from a small set, never from a peer.
class LabelledCounter {
 public:
  /// Those in `values` are there from the start, so that their rate can be computed when they first happen.
  explicit LabelledCounter(const std::vector<std::string>& values = {}) {
    for (const std::string& value : values) counts_[value] = 0;
  }
  void add(std::string_view value);
  [[nodiscard]] const std::map<std::string, std::uint64_t, std::less<>>& counts() const { return counts_; }

 private:
  std::map<std::string, std::uint64_t, std::less<>> counts_;
};

/// The bytes that diagnostic connections have carried, those under way included.
class Traffic {
 public:
  /// Counts what a relay carries; must not outlive the Traffic.
  class Relay {
   public:
    explicit Relay(Traffic& traffic) : traffic_(traffic) { traffic_.relays_.insert(&bytes); }
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;
    ~Relay();

    RelayCounts bytes{};

   private:
    Traffic& traffic_;
  };

  [[nodiscard]] RelayCounts total() const;

 private:
  RelayCounts ended_{};
  std::set<const RelayCounts*> relays_;
};

struct Metrics {
  Metrics();

  std::uint64_t sessions = 0;  ///< All that there have been.
  std::uint64_t requests = 0;
  std::uint64_t accept_pauses = 0;    ///< Shortages of descriptors or memory.
  LabelledCounter refused;            ///< By the limit's name in the configuration, or "no_role".
  LabelledCounter handshakes_failed;  ///< By reason.
  LabelledCounter commands_allowed;   ///< By the protocol's name.
  LabelledCounter commands_refused;   ///< The same; "unknown" where it has none.
  LabelledCounter dumps;              ///< By outcome.
  LabelledCounter profiles;           ///< By outcome.
  Traffic traffic;
  transport::DurationHistogram first_bytes;  ///< From an admitted command to the runtime's first bytes.
  transport::DurationHistogram session_times;
};

}  // namespace farport::router
