// UserShares: how much of an agent the processes of one local user may take, so that others are still served.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <sys/types.h>

#include "base/error.hpp"
#include "transport/event.hpp"
#include "transport/loop.hpp"

namespace farport::router {

/// How many sockets are followed. Each takes a descriptor while its runtime lives.
struct UserShares {
  uid_t self = 0;         ///< The agent's own user.
  std::size_t other = 0;  ///< For each user except root and the agent's own, who are trusted.
  std::size_t total = 0;  ///< For all users together.

  [[nodiscard]] std::size_t of(uid_t user) const { return is_trusted(user) ? total : other; }
  /// How many of a user's runtimes are asked at once. One that doesn't answer delays only that user's others.
  [[nodiscard]] std::size_t questions(uid_t user) const { return is_trusted(user) ? 32 : 8; }
  [[nodiscard]] bool is_trusted(uid_t user) const { return user == 0 || user == self; }
};

/// A user as messages name one, such as "user 1000".
[[nodiscard]] std::string user_text(uid_t user);

/// The largest number of sockets per user with which all users together stay within the total. `counts` says
/// how many each user has.
[[nodiscard]] std::size_t fair_share(const UserShares& shares, const std::map<uid_t, std::size_t>& counts);

/// Derived from the limit of descriptors: half of them are for runtimes, and an eighth for each user's.
[[nodiscard]] UserShares user_shares(std::size_t descriptors, uid_t self);
/// The same with this process's limit and user. Each runtime takes `descriptors_each` descriptors.
[[nodiscard]] UserShares user_shares(std::size_t descriptors_each = 1);

/// Limits the questions to runtimes: a few for each user at once, the others wait for their turn.
class ProbeSlots {
 public:
  ProbeSlots(transport::Loop& loop, UserShares shares);
  ProbeSlots(const ProbeSlots&) = delete;
  ProbeSlots& operator=(const ProbeSlots&) = delete;
  ~ProbeSlots();

  /// A slot, which is free again once nothing holds it. It may outlive the ProbeSlots.
  using Slot = std::shared_ptr<void>;
  transport::Task<Slot> take(uid_t user);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Looks at processes that may make a look block. Each look has a thread of its own, and each user's
/// processes a few looks at once.
class ProcessLooks {
 public:
  explicit ProcessLooks(transport::Loop& loop) : loop_(loop), ended_(loop) {}

  /// Runs `look` at a process of this user when it has its turn, and waits for its end. `look` must own what
  /// it uses, since a look that the process blocks goes on after this. Errors: it takes more than two
  /// seconds, or too many looks of that user are still blocked.
  transport::Task<Result<void>> run(pid_t pid, uid_t user, std::function<void()> look);

 private:
  using Place = std::shared_ptr<void>;
  transport::Task<Place> take_place(uid_t user);

  transport::Loop& loop_;
  transport::Condition ended_;
  /// Each look holds its user's entry, so the use count says how many have not ended.
  std::map<uid_t, Place> under_way_;
};

}  // namespace farport::router
