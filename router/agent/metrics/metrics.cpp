#include "router/agent/metrics/metrics.hpp"

namespace farport::router {
namespace {

std::vector<std::string> refusals() {
  return {"sessions",
          "sessions_per_identity",
          "handshakes",
          "connections_per_session",
          "connections_per_identity",
          "requests_per_second",
          "head_size",
          "message_size",
          "handshake_timeout",
          "first_message_timeout",
          "idle_timeout",
          "session_lifetime",
          "no_role"};
}

std::vector<std::string> handshake_failures() {
  return {"timeout", "closed", "no_certificate", "bad_certificate", "protocol"};
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
    : refused(refusals()), handshakes_failed(handshake_failures()), dumps({"completed", "failed"}) {}

}  // namespace farport::router
