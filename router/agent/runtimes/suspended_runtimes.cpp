#include "router/agent/runtimes/suspended_runtimes.hpp"

#include "ipc/message.hpp"
#include "router/agent/runtimes/probe.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::Milliseconds;
using transport::Task;

/// How often to ask a suspended runtime whether it runs, since others may resume it on their own ports.
constexpr Milliseconds kPoll{1000};
/// How often to ask once it has been resumed: its arguments are known a moment later.
constexpr Milliseconds kFastPoll{100};
/// A runtime without arguments after this many frequent polls has none.
constexpr int kFastPolls = 100;

bool only_asks_who(ipc::Command command) {
  return command == ipc::kProcessInfo || command == ipc::kProcessInfo2 || command == ipc::kProcessInfo3;
}

Task<DiagnosticPort::Connection> no_port(std::string id) {
  co_return fail("reach", "the runtime " + id, "it has ended");
}

Task<void> send_resume(Task<DiagnosticPort::Connection> opening, Log log, std::string name) {
  auto connection = co_await opening;
  if (!connection) {
    log->warn("{} could not be resumed on one of its ports: {}", name, connection.error().message());
    co_return;
  }
  const auto answer = co_await ask(**connection, ipc::make_message(ipc::kResumeRuntime));
  if (!answer) log->warn("{} could not be resumed on one of its ports: {}", name, answer.error().message());
}

}  // namespace

struct SuspendedRuntimes::Entry {
  Entry(transport::Loop& loop, Runtime suspended) : runtime(std::move(suspended)), wake(loop) {}

  Runtime runtime;
  bool wanted = false;  ///< A command has come, so its sender will resume the runtime.
  bool overdue = false;
  int fast_polls_left = 0;  ///< Since it has been resumed.
  transport::Event wake;
  std::optional<transport::Deadline> resume_deadline;
  Task<void> task;  ///< Last, since it uses all the members above.
};

SuspendedRuntimes::SuspendedRuntimes(transport::Loop& loop, Registry& registry, Log log,
                                     std::optional<Milliseconds> resume_after)
    : loop_(loop), registry_(registry), log_(std::move(log)), resume_after_(resume_after), resuming_(loop) {}

SuspendedRuntimes::~SuspendedRuntimes() = default;

Task<void> SuspendedRuntimes::run() {
  const auto watch = registry_.watch();
  for (;;) {
    const std::optional<RuntimeEvent> event = co_await watch->next();
    if (!event) co_return;
    const Runtime& runtime = event->runtime;
    const bool gone = event->kind == RuntimeEvent::Kind::removed;
    if (gone || runtime.state == RuntimeState::running) {
      entries_.erase(runtime.id);
    } else if (!entries_.contains(runtime.id)) {
      begin(runtime);
    }
  }
}

void SuspendedRuntimes::begin(const Runtime& runtime) {
  auto& entry = entries_[runtime.id];
  entry = std::make_unique<Entry>(loop_, runtime);
  if (resume_after_) {
    entry->resume_deadline.emplace(loop_, *resume_after_, [&each = *entry] {
      each.overdue = true;
      each.wake.set();
    });
  }
  entry->task = poll(*entry);
  entry->task.start();
}

void SuspendedRuntimes::command_sent(const std::string& runtime_id, const DiagnosticPort* used,
                                     ipc::Command command) {
  const auto place = entries_.find(runtime_id);
  if (place != entries_.end() && !only_asks_who(command)) place->second->wanted = true;
  if (command == ipc::kResumeRuntime) resume(runtime_id, used);
}

void SuspendedRuntimes::resume(const std::string& runtime_id, const DiagnosticPort* except) {
  const RuntimePtr runtime = registry_.find(runtime_id);
  if (runtime == nullptr) return;
  for (DiagnosticPort* port : registry_.ports(runtime_id)) {
    if (port != except) resuming_.spawn(send_resume(port->open(), log_, runtime->name));
  }
  const auto place = entries_.find(runtime_id);
  if (place == entries_.end()) return;
  place->second->fast_polls_left = kFastPolls;
  place->second->wake.set();
}

Task<void> SuspendedRuntimes::poll(Entry& entry) {
  bool runs = false;
  while (!runs) {
    const Milliseconds pause = entry.fast_polls_left > 0 ? kFastPoll : kPoll;
    co_await with_deadline(loop_, entry.wake.wait(), pause);
    if (entry.overdue && !entry.wanted) {
      entry.wanted = true;
      log_->info("no command came for {} (pid {}) within {} s: resumed it", entry.runtime.name,
                 entry.runtime.pid, std::chrono::duration<double>(*resume_after_).count());
      resume(entry.runtime.id, nullptr);
    }
    runs = co_await runs_now(entry);
  }
}

Task<bool> SuspendedRuntimes::runs_now(Entry& entry) {
  const std::string id = entry.runtime.id;
  const OpenPort open = [this, id]() -> Task<DiagnosticPort::Connection> {
    DiagnosticPort* port = registry_.port(id);
    if (port != nullptr) return port->open();
    return no_port(id);
  };
  const bool last_fast_poll = entry.fast_polls_left == 1;
  if (entry.fast_polls_left > 0) --entry.fast_polls_left;
  Result<Runtime> now = co_await probe(open, entry.runtime.name, nullptr);
  if (!now || now->id != id) co_return false;
  bool runs = has_arguments(now->command_line);
  if (!runs && last_fast_poll) {
    // It may still wait for ports that are not the agent's.
    const Result<int> ports = co_await count_suspending_ports(open, entry.runtime.name);
    runs = ports && *ports <= static_cast<int>(registry_.ports(id).size());
  }
  if (!runs) co_return false;
  log_->info("{} (pid {}) runs now", entry.runtime.name, entry.runtime.pid);
  registry_.update(std::move(*now));
  co_return true;
}

}  // namespace farport::router
