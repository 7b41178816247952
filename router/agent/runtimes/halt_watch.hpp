// Which runtimes stand still, or don't answer: what the list says of it, and what those who wait are told.
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

  /// Looks at the processes of all listed runtimes every few seconds, and tells the registry of those that
  /// stand still, until it is cancelled.
  transport::Task<void> run();

  /// How a runtime's process is now, by a look that begins after this has been called: all who ask meanwhile
  /// share one. Beside run().
  transport::Task<ProcessCondition> look(std::string runtime_id);

  /// To be told of each command that a runtime should have answered by now: it is asked who it is, and is
  /// listed as silent until it says so.
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
  std::map<std::string, Known> known_;  ///< By id: of the last look.
  std::set<std::string> wanted_;        ///< Whose threads are to be counted in the next one.
  std::set<std::string> asked_;         ///< These are being asked who they are.
  std::set<std::string> silent_;        ///< Those of them that have not said so in time.
  std::uint64_t looks_ = 0;             ///< How many have begun.
  std::uint64_t looked_ = 0;            ///< The last one that has ended.
  transport::Event wake_;
  transport::Condition look_ended_;
  transport::TaskSet asking_;
};

}  // namespace farport::router
