// OwnSession: an EventPipe session that the agent keeps in a runtime for itself; and keeping something for
// each runtime that runs.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "ipc/event_pipe.hpp"
#include "router/agent/runtimes/memory_group.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "transport/fd_stream.hpp"
#include "transport/race.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

struct OwnSession {
  std::unique_ptr<transport::FdStream> stream;  ///< What the runtime writes. Read it all, or it blocks.
  ipc::SessionId id;
};

/// Starts a session in a runtime of the registry. It passes no gate, since no caller has asked for it. Its
/// buffer is no larger than there is room for.
/// `doing` begins the error: "read the counters of". Errors: the runtime has ended, doesn't answer, or
/// refuses.
transport::Task<Result<OwnSession>> begin_own_session(Registry& registry, MemoryGroups& groups,
                                                      Runtime runtime, const char* doing,
                                                      ipc::CollectTracing wanted);

/// Asks the runtime to end the session. Its stream must be read to its end meanwhile.
transport::Task<void> stop_own_session(Registry& registry, std::string runtime_id, ipc::SessionId id);

/// Keeps a `Kept` for each runtime of the registry, from when it runs until it is removed. `Kept` has
/// change(Runtime), for what has changed about the runtime, and a task end().
template <typename Kept>
class PerRuntime {
 public:
  using Make = std::function<std::unique_ptr<Kept>(const Runtime&)>;
  using Removed = std::function<void(std::unique_ptr<Kept>)>;

  /// At most `most` runtimes have one, and those for which `make` returns null none. Each user has an equal
  /// part of the places, as far as they are wanted: where there is none left, a user who has most gives one
  /// up. `what` is named in the warning about that: "the recorder". `removed`, if set, gets what was kept for
  /// a runtime that has ended.
  PerRuntime(transport::Loop& loop, Registry& registry, Log log, std::size_t most, const char* what,
             Make make, Removed removed = {})
      : loop_(loop),
        registry_(registry),
        log_(std::move(log)),
        most_(most),
        what_(what),
        make_(std::move(make)),
        removed_(std::move(removed)),
        leaving_(loop) {}
  PerRuntime(const PerRuntime&) = delete;
  PerRuntime& operator=(const PerRuntime&) = delete;

  /// Follows the registry until it is cancelled.
  transport::Task<void> run() {
    const auto watch = registry_.watch();
    for (;;) {
      const std::optional<RuntimeEvent> event = co_await watch->next();
      if (!event) co_return;
      // end() may be using what is kept.
      if (!ended_) take(*event);
    }
  }
  /// Ends all that is kept, and waits for that no longer than `limit`. Makes no more.
  transport::Task<void> end(transport::Milliseconds limit) {
    ended_ = true;
    transport::TaskSet ending(loop_);
    for (const auto& [id, kept] : kept_) ending.spawn(kept->end());
    co_await with_deadline(loop_, ending.idle(), limit);
  }

  /// By the runtime's id.
  [[nodiscard]] const std::map<std::string, std::unique_ptr<Kept>>& all() const { return kept_; }

 private:
  void take(const RuntimeEvent& event) {
    const Runtime& runtime = event.runtime;
    if (event.kind == RuntimeEvent::Kind::listed) return;
    if (event.kind == RuntimeEvent::Kind::removed) {
      users_.erase(runtime.id);
      auto ended = kept_.extract(runtime.id);
      if (!ended.empty() && removed_) removed_(std::move(ended.mapped()));
      return;
    }
    if (runtime.state != RuntimeState::running) return;
    const auto known = kept_.find(runtime.id);
    if (known != kept_.end()) return known->second->change(runtime);
    if (kept_.size() >= most_ && !free_place_for(runtime)) return;
    auto made = make_(runtime);
    if (!made) return;
    kept_.emplace(runtime.id, std::move(made));
    users_[runtime.id] = runtime.user;
  }

  /// Has the user who has most places give one up, if that has more than this runtime's user would have.
  bool free_place_for(const Runtime& runtime) {
    std::map<uid_t, std::size_t> places;
    for (const auto& [id, user] : users_) ++places[user];
    const auto most = std::max_element(places.begin(), places.end(), [](const auto& one, const auto& other) {
      return one.second < other.second;
    });
    if (most == places.end() || most->second <= places[runtime.user] + 1) {
      log_->warn("{} (pid {}) is left out of {}, which has {} runtimes already, the maximum", runtime.name,
                 runtime.pid, what_, most_);
      return false;
    }
    const auto leaving = std::find_if(users_.rbegin(), users_.rend(),
                                      [&most](const auto& each) { return each.second == most->first; });
    log_->warn("{} leaves out a runtime of the user {}, who has {} of its {} places, for one of the user {}",
               what_, most->first, most->second, most_, runtime.user);
    auto gone = kept_.extract(leaving->first);
    users_.erase(leaving->first);
    if (!gone.empty()) leaving_.spawn(leave(std::move(gone.mapped())));
    return true;
  }

  static transport::Task<void> leave(std::unique_ptr<Kept> kept) { co_await kept->end(); }

  transport::Loop& loop_;
  Registry& registry_;
  Log log_;
  std::size_t most_;
  const char* what_;
  Make make_;
  Removed removed_;
  std::map<std::string, std::unique_ptr<Kept>> kept_;
  std::map<std::string, uid_t> users_;  ///< Of the runtimes that have one.
  bool ended_ = false;
  transport::TaskSet leaving_;
};

}  // namespace farport::router
