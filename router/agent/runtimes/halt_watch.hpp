// HaltWatch: finds the runtimes that stand still or don't answer.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/log.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "router/wire/runtime.hpp"
#include "transport/event.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

class HaltWatch {
 public:
  HaltWatch(transport::Loop& loop, Registry& registry, Log log);
  HaltWatch(const HaltWatch&) = delete;
  HaltWatch& operator=(const HaltWatch&) = delete;
  ~HaltWatch();

  /// Looks at the processes of all listed runtimes every few seconds, and tells the registry which of them
  /// stand still, until it is cancelled.
  transport::Task<void> run();

  /// The state of a runtime's process, by a look that begins after this call. All who ask meanwhile share one
  /// look. run() must be running.
  transport::Task<ProcessCondition> look(std::string runtime_id);

  /// Call this for each command that a runtime should have answered by now. The runtime is asked who it is,
  /// and is listed as silent until it answers.
  void unanswered(const std::string& runtime_id);

 private:
  struct Known;
  struct Look;
  transport::Task<void> look_at_all();
  void take(const Look& look);
  transport::Task<void> ask(std::string runtime_id);
  void tell(const std::string& runtime_id);

  transport::Loop& loop_;
  Registry& registry_;
  Log log_;
  std::map<std::string, Known> known_;  ///< The result of the last look, by runtime id.
  std::set<std::string> wanted_;        ///< Runtimes whose threads the next look counts.
  std::set<std::string> asked_;         ///< Runtimes that are being asked who they are.
  std::set<std::string> silent_;        ///< Those of them that have not answered in time.
  std::uint64_t looks_ = 0;             ///< How many looks have begun.
  std::uint64_t looked_ = 0;            ///< The number of the last look that has ended.
  transport::Event wake_;
  transport::Condition look_ended_;
  transport::TaskSet asking_;
};

}  // namespace farport::router
