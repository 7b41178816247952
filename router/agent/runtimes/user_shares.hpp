// What the processes of one local user may take of an agent that serves several: other users' runtimes go on
// being found and answered whatever one of them does.
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

/// How many sockets are followed: for each takes a descriptor while its runtime lives.
struct UserShares {
  uid_t self = 0;         ///< The agent's own user.
  std::size_t other = 0;  ///< For each user but root and our own, who can do worse to us.
  std::size_t total = 0;  ///< For all of them together.

  [[nodiscard]] std::size_t of(uid_t user) const { return is_trusted(user) ? total : other; }
  /// How many of a user's runtimes are asked something at once. What answers takes a moment; what doesn't,
  /// holds up that user's others alone.
  [[nodiscard]] std::size_t questions(uid_t user) const { return is_trusted(user) ? 32 : 8; }
  [[nodiscard]] bool is_trusted(uid_t user) const { return user == 0 || user == self; }
};

/// A user as messages name one: "user 1000".
[[nodiscard]] std::string user_text(uid_t user);

/// How many sockets each user may have who has as many as `counts` says, so that all of them together have no
/// more than there may be.
[[nodiscard]] std::size_t fair_share(const UserShares& shares, const std::map<uid_t, std::size_t>& counts);

/// Derived from the limit of open descriptors: half of them are for runtimes, and an eighth for each user's.
[[nodiscard]] UserShares user_shares(std::size_t descriptors, uid_t self);
/// For this process's limit and user, where each runtime takes so many descriptors.
[[nodiscard]] UserShares user_shares(std::size_t descriptors_each = 1);

/// Questions to runtimes: a few of each user's at once, the others wait for their turn.
class ProbeSlots {
 public:
  ProbeSlots(transport::Loop& loop, UserShares shares);
  ProbeSlots(const ProbeSlots&) = delete;
  ProbeSlots& operator=(const ProbeSlots&) = delete;
  ~ProbeSlots();

  /// A slot, which is free again once nothing holds it any more. It may outlive this.
  using Slot = std::shared_ptr<void>;
  transport::Task<Slot> take(uid_t user);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Looks at processes that may hold up whoever looks: each on a thread of its own, a few of each user's at
// once.

class ProcessLooks {
 public:
  explicit ProcessLooks(transport::Loop& loop) : loop_(loop), ended_(loop) {}

  /// Runs `look` at a process of this user's, when it has its turn, and passes when it has ended. Whatever it
  /// uses must belong to it: one that the process holds up goes on beyond this. Errors: it has not ended
  /// within two seconds, or as many of that user's have not as there may be.
  transport::Task<Result<void>> run(pid_t pid, uid_t user, std::function<void()> look);

 private:
  using Place = std::shared_ptr<void>;
  transport::Task<Place> take_place(uid_t user);

  transport::Loop& loop_;
  transport::Condition ended_;
  /// Held by each look: its use count tells how many of that user's have not ended yet.
  std::map<uid_t, Place> under_way_;
};

}  // namespace farport::router
