// Looks at processes that may hold up whoever looks: each on a thread of its own, a few of each user's at
// once.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include <sys/types.h>

#include "base/error.hpp"
#include "transport/event.hpp"

namespace farport::router {

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
