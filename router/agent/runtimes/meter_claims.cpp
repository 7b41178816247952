#include "router/agent/runtimes/meter_claims.hpp"

#include <algorithm>
#include <utility>

#include "transport/race.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Task;

/// A stop that is asked for this long before a collection may reach the runtime during it, if the processor
/// is busy.
constexpr std::chrono::milliseconds kSooner{1000};
/// How long after its first collection is due a runtime may need until that collection is past its danger. It
/// takes some 50 ms of a processor, and there may be a tenth of one.
constexpr std::chrono::milliseconds kFirstCollection{3000};
/// A runtime ends a session within milliseconds, unless it must collect first or does not answer.
constexpr transport::Milliseconds kGiveWayLimit = MeterClaims::kMaxHold + std::chrono::milliseconds(1000);

}  // namespace

MeterClaims::MeterClaims(transport::Loop& loop, const Registry& registry,
                         const std::optional<CounterLimits>& own)
    : loop_(loop), registry_(registry), own_(own ? meter_agreement(*own) : std::string()), changed_(loop) {}

Task<MeterClaims::Place> MeterClaims::claim(std::string runtime_id, MeterReading reading) {
  forget_the_ended();
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
  forget_the_ended();
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
  if (use.first && use.first->over <= now) has_collected(use);
  if (use.has_collected) return;
  const auto interval = std::chrono::duration_cast<Clock::duration>(reading.interval);
  if (!use.first) {
    use.first = FirstCollection{.agreement = reading.agreement,
                                .due = asked + interval - kSooner,
                                .over = now + interval + kFirstCollection,
                                .sessions = {},
                                .refused = {},
                                .ending = 0};
  }
  (reading.agreement == use.first->agreement ? use.first->sessions : use.first->refused)
      .insert(session.value);
}

/// Counts a stop that waits for the first collection, for as long as it exists.
class MeterClaims::Ending {
 public:
  Ending(MeterClaims& claims, std::string runtime_id) : claims_(claims), runtime_id_(std::move(runtime_id)) {
    change(1);
  }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  ~Ending() { change(-1); }

 private:
  void change(int by) {
    if (FirstCollection* const first = claims_.first_of_runtime(runtime_id_))
      first->ending += static_cast<std::size_t>(by);
    claims_.changed_.changed();
  }

  MeterClaims& claims_;
  std::string runtime_id_;
};

Task<void> MeterClaims::until_stoppable(std::string runtime_id, ipc::SessionId session) {
  FirstCollection* const first = first_of_runtime(runtime_id);
  if (first == nullptr) co_return;
  if (!first->sessions.contains(session.value) && !first->refused.contains(session.value)) co_return;
  const auto now = Clock::now();
  if (now < first->due) {
    first->sessions.erase(session.value);
    first->refused.erase(session.value);
    // With the last session that it serves, the runtime gives up collecting.
    if (first->sessions.empty()) uses_[runtime_id].first.reset();
    co_return;
  }
  const Ending ending(*this, runtime_id);
  const auto left = std::min<Clock::duration>(first->over - now, kMaxHold);
  if (left.count() > 0) co_await transport::sleep(loop_, std::chrono::ceil<transport::Milliseconds>(left));
  const auto use = uses_.find(runtime_id);
  if (use != uses_.end() && use->second.first && use->second.first->over <= Clock::now())
    has_collected(use->second);
}

/// Returns nullptr if the runtime has collected, or no session makes it collect.
MeterClaims::FirstCollection* MeterClaims::first_of_runtime(const std::string& runtime_id) {
  const auto use = uses_.find(runtime_id);
  return use == uses_.end() || !use->second.first ? nullptr : &*use->second.first;
}

void MeterClaims::has_collected(Use& use) {
  use.has_collected = true;
  use.first.reset();
  changed_.changed();
}

Task<void> MeterClaims::until_given_way(const std::string& runtime_id, const MeterReading& reading) {
  while (is_in_use_otherwise(runtime_id, reading)) co_await changed_.wait();
}

bool MeterClaims::is_in_use_otherwise(const std::string& runtime_id, const MeterReading& reading) const {
  const auto found = uses_.find(runtime_id);
  if (found == uses_.end()) return false;
  const Use& use = found->second;
  return (use.held && reading.agreement != own_) ||
         (use.first && use.first->ending > 0 && reading.agreement != use.first->agreement);
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
