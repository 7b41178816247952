#include "router/agent/runtimes/process_looks.hpp"

#include <string>

#include "transport/offload.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Task;

/// A process can make what is read of it take for ever.
constexpr transport::Milliseconds kLookLimit{2000};
constexpr long kMostOfOneUser = 4;

}  // namespace

/// A place for another look at that user's processes, once there is one; null where it has taken too long.
Task<ProcessLooks::Place> ProcessLooks::take_place(uid_t user) {
  const transport::Deadline limit(loop_, kLookLimit, [this] { ended_.changed(); });
  for (;;) {
    std::erase_if(under_way_, [](const auto& entry) { return entry.second.use_count() == 1; });
    Place& of_user = under_way_[user];
    if (of_user == nullptr) of_user = std::make_shared<char>();
    if (of_user.use_count() <= kMostOfOneUser) co_return of_user;
    if (limit.expired()) co_return nullptr;
    co_await ended_.wait();
  }
}

Task<Result<void>> ProcessLooks::run(pid_t pid, uid_t user, std::function<void()> look) {
  const std::string on = "process " + std::to_string(pid);
  Place taken = co_await take_place(user);
  if (taken == nullptr) {
    co_return fail("look at", on, "others of its user do not let themselves be looked at");
  }
  // Given back by the thread itself, before it is seen to have ended.
  std::function<void()> work = [look = std::move(look), place = std::move(taken)]() mutable {
    look();
    place.reset();
  };
  const Result<void> looked = co_await transport::run_detached(loop_, std::move(work), kLookLimit);
  ended_.changed();
  if (!looked) co_return fail("look at", on, looked.error().why);
  co_return looked;
}

}  // namespace farport::router
