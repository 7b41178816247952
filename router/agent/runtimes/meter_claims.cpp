#include "router/agent/runtimes/meter_claims.hpp"

#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::Task;

/// The runtime has the agent's session end within milliseconds, unless it does not answer at all.
constexpr transport::Milliseconds kGiveWayLimit{2000};

}  // namespace

MeterClaims::MeterClaims(transport::Loop& loop, Clashes clashes)
    : loop_(loop), clashes_(std::move(clashes)), changed_(loop) {}

Task<MeterClaims::Place> MeterClaims::claim(std::string runtime_id, ipc::CollectTracing session) {
  if (!clashes_ || !clashes_(session)) co_return nullptr;
  ++uses_[runtime_id].claims;
  changed_.changed();
  std::function<void(void*)> give_back = [this, runtime_id](void*) {
    --uses_[runtime_id].claims;
    tidy(runtime_id);
  };
  const Place place(this, std::move(give_back));
  co_await with_deadline(loop_, until_given_way(runtime_id), kGiveWayLimit);
  co_return place;
}

Task<MeterClaims::Place> MeterClaims::hold(std::string runtime_id) {
  while (is_claimed(runtime_id)) co_await changed_.wait();
  uses_[runtime_id].held = true;
  std::function<void(void*)> give_back = [this, runtime_id](void*) {
    uses_[runtime_id].held = false;
    tidy(runtime_id);
  };
  Place place(this, std::move(give_back));
  co_return place;
}

Task<void> MeterClaims::claimed(std::string runtime_id) {
  while (!is_claimed(runtime_id)) co_await changed_.wait();
}

Task<void> MeterClaims::until_given_way(const std::string& runtime_id) {
  for (;;) {
    const auto use = uses_.find(runtime_id);
    if (use == uses_.end() || !use->second.held) co_return;
    co_await changed_.wait();
  }
}

bool MeterClaims::is_claimed(const std::string& runtime_id) const {
  const auto use = uses_.find(runtime_id);
  return use != uses_.end() && use->second.claims > 0;
}

void MeterClaims::tidy(const std::string& runtime_id) {
  const auto use = uses_.find(runtime_id);
  if (use->second.claims == 0 && !use->second.held) uses_.erase(use);
  changed_.changed();
}

}  // namespace farport::router
