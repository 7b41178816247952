// SuspendedRuntimes: notices when suspended runtimes run, and resumes them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "ipc/commands.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

class SuspendedRuntimes {
 public:
  /// `resume_after` is how long a suspended runtime waits for a command before it is resumed; if empty, for
  /// ever.
  SuspendedRuntimes(transport::Loop& loop, Registry& registry, Log log,
                    std::optional<transport::Milliseconds> resume_after);
  SuspendedRuntimes(const SuspendedRuntimes&) = delete;
  SuspendedRuntimes& operator=(const SuspendedRuntimes&) = delete;
  ~SuspendedRuntimes();

  /// Follows the registry, and tells it when runtimes are no longer suspended, until it is cancelled.
  transport::Task<void> run();

  /// Call this for each command that was sent to a runtime through `used`, which may be gone by now. Sends
  /// ResumeRuntime to the runtime's other ports as well, since the runtime waits for each port that suspends
  /// it, and callers see only one.
  void command_sent(const std::string& runtime_id, const DiagnosticPort* used, ipc::Command command);

 private:
  struct Entry;
  transport::Task<void> follow(Entry& entry);
  void resume_unless_wanted(Entry& entry);
  void resume(const std::string& runtime_id, const DiagnosticPort* except);
  void begin(const Runtime& runtime);

  transport::Loop& loop_;
  Registry& registry_;
  Log log_;
  std::optional<transport::Milliseconds> resume_after_;
  std::map<std::string, std::unique_ptr<Entry>> entries_;  ///< Suspended runtimes, by id.
  transport::TaskSet resuming_;
};

}  // namespace farport::router
