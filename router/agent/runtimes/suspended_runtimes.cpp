#include "router/agent/runtimes/suspended_runtimes.hpp"

#include "ipc/message.hpp"
#include "router/agent/runtimes/probe.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::Milliseconds;
using transport::Task;

/// How long to wait before a session is begun again that told nothing.
constexpr Milliseconds kBetweenSessions{1000};

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
  explicit Entry(Runtime suspended) : runtime(std::move(suspended)) {}

  Runtime runtime;
  bool wanted = false;  ///< A command has come, so its sender will resume the runtime.
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
  entry = std::make_unique<Entry>(runtime);
  if (resume_after_) {
    entry->resume_deadline.emplace(loop_, *resume_after_,
                                   [this, &each = *entry] { resume_unless_wanted(each); });
  }
  entry->task = follow(*entry);
  entry->task.start();
}

void SuspendedRuntimes::resume_unless_wanted(Entry& entry) {
  if (std::exchange(entry.wanted, true)) return;
  log_->info("no command came for {} (pid {}) within {} s: resumed it", entry.runtime.name, entry.runtime.pid,
             std::chrono::duration<double>(*resume_after_).count());
  resume(entry.runtime.id, nullptr);
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
}

Task<void> SuspendedRuntimes::follow(Entry& entry) {
  const std::string id = entry.runtime.id;
  const OpenPort open = [this, id]() -> Task<DiagnosticPort::Connection> {
    DiagnosticPort* port = registry_.port(id);
    if (port != nullptr) return port->open();
    return no_port(id);
  };
  for (;;) {
    const Result<void> runs = co_await until_it_runs(open, entry.runtime.name);
    if (runs) {
      Result<Runtime> now = co_await probe(open, entry.runtime.name, nullptr);
      if (now) now = co_await once_started(loop_, open, entry.runtime.name, std::move(*now));
      if (now && now->id == id) {
        log_->info("{} (pid {}) runs now", entry.runtime.name, entry.runtime.pid);
        registry_.update(std::move(*now));
        co_return;
      }
    } else {
      log_->debug("{} (pid {}) does not tell whether it is suspended: {}", entry.runtime.name,
                  entry.runtime.pid, runs.error().message());
    }
    co_await transport::sleep(loop_, kBetweenSessions);
  }
}

}  // namespace farport::router
