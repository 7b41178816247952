#include "router/agent/runtimes/user_shares.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <unistd.h>

#include "base/resources.hpp"
#include "transport/event.hpp"
#include "transport/offload.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Task;

constexpr std::size_t kMinTotal = 64;
/// A limit even with more descriptors, since all sockets are looked at again and again.
constexpr std::size_t kMaxTotal = 8192;
constexpr std::size_t kMinOther = 16;
constexpr std::size_t kMaxOther = 1000;

}  // namespace

std::string user_text(uid_t user) {
  return "user " + std::to_string(user);
}

UserShares user_shares(std::size_t descriptors, uid_t self) {
  const std::size_t total = std::clamp(descriptors / 2, kMinTotal, kMaxTotal);
  return {self, std::clamp(total / 4, kMinOther, kMaxOther), total};
}

UserShares user_shares(std::size_t descriptors_each) {
  return user_shares(descriptor_limit() / descriptors_each, ::geteuid());
}

std::size_t fair_share(const UserShares& shares, const std::map<uid_t, std::size_t>& counts) {
  std::size_t share = shares.total;
  const auto together = [&] {
    std::size_t sum = 0;
    for (const auto& [user, count] : counts) sum += std::min({count, share, shares.of(user)});
    return sum;
  };
  while (share > 1 && together() > shares.total) share -= (share + 7) / 8;
  return share;
}

struct ProbeSlots::State {
  State(transport::Loop& on, UserShares limits) : loop(on), shares(limits) {}

  struct Taker : transport::ListNode {
    explicit Taker(transport::Loop& loop) : served(loop) {}
    Slot slot;
    transport::Event served;
  };
  struct User {
    std::size_t taken = 0;
    transport::NodeList waiting;
  };
  struct Taken {
    Taken(std::shared_ptr<State> of, uid_t by) : state(std::move(of)), user(by) {}
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;
    ~Taken() { release(state, user); }
    std::shared_ptr<State> state;
    uid_t user;
  };

  static Slot make_slot(const std::shared_ptr<State>& state, uid_t user) {
    ++state->users[user].taken;
    return std::make_shared<Taken>(state, user);
  }
  static void release(const std::shared_ptr<State>& state, uid_t uid) {
    const auto place = state->users.find(uid);
    --place->second.taken;
    if (auto* next = static_cast<Taker*>(place->second.waiting.pop())) {
      next->slot = make_slot(state, uid);
      next->served.set();
    } else if (place->second.taken == 0) {
      state->users.erase(place);
    }
  }

  transport::Loop& loop;
  UserShares shares;
  std::map<uid_t, User> users;  ///< Those who hold slots now.
};

ProbeSlots::ProbeSlots(transport::Loop& loop, UserShares shares)
    : state_(std::make_shared<State>(loop, shares)) {}

ProbeSlots::~ProbeSlots() = default;

Task<ProbeSlots::Slot> ProbeSlots::take(uid_t user) {
  const std::shared_ptr<State> state = state_;
  State::User& place = state->users[user];
  if (place.taken < state->shares.questions(user)) co_return State::make_slot(state, user);
  State::Taker taker(state->loop);
  place.waiting.push(taker);
  co_await taker.served.wait();
  co_return std::move(taker.slot);
}

namespace {

/// A process can make reading about it take for ever.
constexpr transport::Milliseconds kLookLimit{2000};
constexpr long kMaxLooksOfOneUser = 4;

}  // namespace

/// Waits for a place for another look at this user's processes. Returns null if that takes too long.
Task<ProcessLooks::Place> ProcessLooks::take_place(uid_t user) {
  const transport::Deadline limit(loop_, kLookLimit, [this] { ended_.changed(); });
  for (;;) {
    std::erase_if(under_way_, [](const auto& entry) { return entry.second.use_count() == 1; });
    Place& of_user = under_way_[user];
    if (of_user == nullptr) of_user = std::make_shared<char>();
    if (of_user.use_count() <= kMaxLooksOfOneUser) co_return of_user;
    if (limit.expired()) co_return nullptr;
    co_await ended_.wait();
  }
}

Task<Result<void>> ProcessLooks::run(pid_t pid, uid_t user, std::function<void()> look) {
  const std::string on = "process " + std::to_string(pid);
  Place taken = co_await take_place(user);
  if (taken == nullptr) {
    co_return fail("inspect", on, "earlier inspections of its user's processes have not finished");
  }
  // The thread itself gives the place back, before it is seen to have ended.
  std::function<void()> work = [look = std::move(look), place = std::move(taken)]() mutable {
    look();
    place.reset();
  };
  const Result<void> looked = co_await transport::run_detached(loop_, std::move(work), kLookLimit);
  ended_.changed();
  if (!looked) co_return fail("inspect", on, looked.error().why);
  co_return looked;
}

}  // namespace farport::router
