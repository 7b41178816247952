#include "router/agent/runtimes/meter_claims.hpp"

#include <algorithm>
#include <utility>

#include "transport/race.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Task;

/// A collection begins no sooner than this before it is due, as two clocks may differ.
constexpr std::chrono::milliseconds kSooner{100};
/// How long a runtime may take from when its first collection is due to when it has begun in earnest: that
/// takes some 50 ms of a processor, and there may be a tenth of one.
constexpr std::chrono::milliseconds kFirstCollection{3000};
/// The runtime has a session end within milliseconds, unless it has first to collect, or does not answer.
constexpr transport::Milliseconds kGiveWayLimit = kFirstCollection + std::chrono::milliseconds(2000);

}  // namespace

MeterClaims::MeterClaims(transport::Loop& loop, const Registry& registry,
                         const std::optional<CounterLimits>& own)
    : loop_(loop), registry_(registry), own_(own ? meter_agreement(*own) : std::string()), changed_(loop) {}

Task<MeterClaims::Place> MeterClaims::claim(std::string runtime_id, MeterReading reading) {
  Place place;
  if (!own_.empty() && reading.agreement != own_) {
    ++uses_[runtime_id].claims;
    changed_.changed();
    std::function<void(void*)> give_back = [this, runtime_id](void*) {
      --uses_[runtime_id].claims;
      changed_.changed();
    };
    place = Place(this, std::move(give_back));
  }
  co_await with_deadline(loop_, until_given_way(runtime_id, reading), kGiveWayLimit);
  co_return place;
}

Task<MeterClaims::Place> MeterClaims::hold(std::string runtime_id) {
  while (is_claimed(runtime_id)) co_await changed_.wait();
  uses_[runtime_id].held = true;
  std::function<void(void*)> give_back = [this, runtime_id](void*) {
    uses_[runtime_id].held = false;
    changed_.changed();
  };
  Place place(this, std::move(give_back));
  co_return place;
}

Task<void> MeterClaims::claimed(std::string runtime_id) {
  while (!is_claimed(runtime_id)) co_await changed_.wait();
}

void MeterClaims::began(const std::string& runtime_id, ipc::SessionId session, const MeterReading& reading,
                        Clock::time_point asked) {
  forget_the_ended();
  Use& use = uses_[runtime_id];
  const auto now = Clock::now();
  if (earliest(use, &FirstCollection::over) <= now) has_collected(use);
  if (use.has_collected) return;
  const auto interval = std::chrono::duration_cast<Clock::duration>(reading.interval);
  use.sessions[session.value] = {asked + interval - kSooner, now + interval + kFirstCollection,
                                 reading.agreement};
}

Task<void> MeterClaims::until_stoppable(std::string runtime_id, ipc::SessionId session) {
  const auto found = uses_.find(runtime_id);
  if (found == uses_.end()) co_return;
  Use& use = found->second;
  const auto known = use.sessions.find(session.value);
  if (known == use.sessions.end()) co_return;
  const auto now = Clock::now();
  // What collects may have begun with another session.
  if (now < earliest(use, &FirstCollection::due)) {
    use.sessions.erase(known);
    co_return;
  }
  use.ending = known->second.agreement;
  const auto left = earliest(use, &FirstCollection::over) - now;
  if (left.count() > 0) co_await transport::sleep(loop_, std::chrono::ceil<transport::Milliseconds>(left));
  const auto collected = uses_.find(runtime_id);
  if (collected != uses_.end()) has_collected(collected->second);
}

/// The end of time where there are no sessions.
MeterClaims::Clock::time_point MeterClaims::earliest(const Use& use,
                                                     Clock::time_point FirstCollection::*when) {
  Clock::time_point least = Clock::time_point::max();
  for (const auto& [id, each] : use.sessions) least = std::min(least, each.*when);
  return least;
}

void MeterClaims::has_collected(Use& use) {
  use.has_collected = true;
  use.sessions.clear();
  use.ending.reset();
  changed_.changed();
}

Task<void> MeterClaims::until_given_way(const std::string& runtime_id, const MeterReading& reading) {
  while (is_in_use_otherwise(runtime_id, reading)) co_await changed_.wait();
}

bool MeterClaims::is_in_use_otherwise(const std::string& runtime_id, const MeterReading& reading) const {
  const auto use = uses_.find(runtime_id);
  if (use == uses_.end()) return false;
  const auto& ending = use->second.ending;
  return (use->second.held && reading.agreement != own_) || (ending && reading.agreement != *ending);
}

bool MeterClaims::is_claimed(const std::string& runtime_id) const {
  const auto use = uses_.find(runtime_id);
  return use != uses_.end() && use->second.claims > 0;
}

void MeterClaims::forget_the_ended() {
  std::erase_if(uses_, [this](const auto& each) {
    const Use& use = each.second;
    return use.claims == 0 && !use.held && registry_.port(each.first) == nullptr;
  });
}

}  // namespace farport::router
