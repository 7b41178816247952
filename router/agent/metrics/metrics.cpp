#include "router/agent/metrics/metrics.hpp"

#include <array>

#include "auth/limit_settings.hpp"

namespace farport::router {
namespace {

using namespace std::chrono_literals;

/// A runtime mostly answers within milliseconds; one that is busy, or writes a dump, takes longer.
constexpr std::array<std::chrono::milliseconds, 10> kFirstByteBounds{2ms,   5ms,   10ms, 20ms, 50ms,
                                                                     100ms, 200ms, 1s,   5s,   30s};
/// From a single command to a mirror that is never switched off.
constexpr std::array<std::chrono::milliseconds, 8> kSessionBounds{1s, 10s, 1min, 5min, 15min, 1h, 4h, 24h};

/// Every limit but one: what goes beyond buffered_bytes is counted by the BufferBudget.
std::vector<std::string> refusals() {
  std::vector<std::string> reasons = {"no_role"};
  for (const auth::Limit& limit : auth::kLimits) {
    if (&limit != &auth::limit_of(&auth::LimitSettings::buffered_bytes)) reasons.emplace_back(limit.name());
  }
  return reasons;
}

std::vector<std::string> handshake_failures() {
  return {"timeout", "closed", "no_certificate", "bad_certificate", "protocol", "probe"};
}

}  // namespace

void LabelledCounter::add(std::string_view value) {
  const auto known = counts_.find(value);
  if (known != counts_.end()) {
    ++known->second;
  } else {
    counts_.emplace(value, 1);
  }
}

Traffic::Relay::~Relay() {
  traffic_.relays_.erase(&bytes);
  traffic_.ended_.to_runtime += bytes.to_runtime;
  traffic_.ended_.to_tool += bytes.to_tool;
}

RelayCounts Traffic::total() const {
  RelayCounts all = ended_;
  for (const RelayCounts* relay : relays_) {
    all.to_runtime += relay->to_runtime;
    all.to_tool += relay->to_tool;
  }
  return all;
}

Metrics::Metrics()
    : refused(refusals()),
      handshakes_failed(handshake_failures()),
      dumps({"completed", "failed"}),
      profiles({"completed", "failed"}),
      first_bytes(kFirstByteBounds),
      session_times(kSessionBounds) {}

}  // namespace farport::router
