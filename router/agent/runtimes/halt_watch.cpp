#include "router/agent/runtimes/halt_watch.hpp"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/process_stat.hpp"
#include "ipc/commands.hpp"
#include "router/stream/first_message.hpp"
#include "transport/offload.hpp"
#include "transport/race.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Milliseconds;
using transport::Task;

/// The time between two looks, and the least time if somebody asks for one.
constexpr Milliseconds kBetweenAllLooks{5000};
constexpr Milliseconds kMinBetweenLooks{500};
/// A healthy runtime says who it is within this time.
constexpr Milliseconds kAnswerLimit{1000};
/// A thread that is ready to run each time it is looked at has work, however little of a processor it gets.
constexpr int kLooksAtReady = 5;
constexpr Milliseconds kBetweenLooksAtReady{50};
/// The most threads to read of one process.
constexpr std::size_t kMaxWatchedThreads = 4096;

/// Whether a thread that waits here is in a frozen cgroup (version 2), given that it is not stopped.
bool is_in_freezer(const std::string& place) {
  return place == "get_signal" || place == "do_freezer_trap";
}

struct Looked {
  std::string id;
  pid_t pid = 0;
  std::uint64_t start = 0;
  bool in_detail = false;
  std::optional<ProcessStat> stat{};
  ProcessCondition condition{};
  std::vector<pid_t> ready{};  ///< Threads that run, or are ready to, where details are wanted.
};

/// Counts them, and returns those that run, or are ready to.
std::vector<pid_t> count_threads(Looked& process) {
  std::vector<pid_t> ready;
  for (const ProcessStat& thread : thread_stats(process.pid, kMaxWatchedThreads)) {
    ++process.condition.threads;
    process.condition.in_disk += thread.state == 'D' ? 1 : 0;
    if (thread.state == 'R') ready.push_back(thread.id);
  }
  process.condition.running = static_cast<std::uint32_t>(ready.size());
  return ready;
}

/// Leaves those threads of each process that stay ready for a while.
void keep_ready(std::vector<Looked>& processes) {
  const auto has_ready = [](const Looked& each) { return !each.ready.empty(); };
  for (int look = 1; look < kLooksAtReady && std::ranges::any_of(processes, has_ready); ++look) {
    std::this_thread::sleep_for(kBetweenLooksAtReady);
    for (Looked& each : processes) {
      std::erase_if(each.ready, [&each](pid_t thread) {
        const auto stat = thread_stat(each.pid, thread);
        return !stat || stat->state != 'R';
      });
    }
  }
  for (Looked& each : processes) each.condition.runnable = has_ready(each);
}

void look_at(Looked& process) {
  process.stat = process_stat(process.pid);
  // The pid may belong to another process by now.
  if (process.stat && process.stat->start_time != process.start) process.stat.reset();
  if (!process.stat) return;
  ProcessCondition& condition = process.condition;
  const char state = process.stat->state;
  condition.traced = state == 't';
  condition.ending = state == 'Z' || state == 'X';
  if (process.stat->is_stopped() || condition.traced) condition.halt = Halt::stopped;
  // Every thread in a frozen cgroup of version 1 is in state D, which otherwise hardly ever holds for all.
  const bool may_be_frozen = state == 'D';
  if (process.in_detail || may_be_frozen) {
    auto ready = count_threads(process);
    if (process.in_detail) process.ready = std::move(ready);
  }
  if (const auto status = process.in_detail ? process_status(process.pid) : std::nullopt) {
    condition.memory = status->memory;
    condition.own_memory = status->own_memory;
  }
  if (may_be_frozen && condition.in_disk == condition.threads) condition.halt = Halt::frozen;
  if (state == 'S' && is_in_freezer(waiting_in(process.pid))) condition.halt = Halt::frozen;
}

}  // namespace

struct HaltWatch::Known {
  ProcessCondition condition;
  std::uint64_t processor_time = 0;
  std::chrono::steady_clock::time_point at{};
};

struct HaltWatch::Look {
  std::vector<Looked> processes;
  std::chrono::steady_clock::time_point at = std::chrono::steady_clock::now();
};

HaltWatch::HaltWatch(transport::Loop& loop, Registry& registry, Log log)
    : loop_(loop), registry_(registry), log_(std::move(log)), wake_(loop), look_ended_(loop), asking_(loop) {}

HaltWatch::~HaltWatch() = default;

Task<void> HaltWatch::run() {
  for (;;) {
    co_await look_at_all();
    co_await transport::sleep(loop_, kMinBetweenLooks);
    if (wanted_.empty()) co_await with_deadline(loop_, wake_.wait(), kBetweenAllLooks);
  }
}

Task<ProcessCondition> HaltWatch::look(std::string runtime_id) {
  wanted_.insert(runtime_id);
  wake_.set();
  const std::uint64_t next = looks_ + 1;
  while (looked_ < next) co_await look_ended_.wait();
  const auto known = known_.find(runtime_id);
  co_return known == known_.end() ? ProcessCondition() : known->second.condition;
}

Task<void> HaltWatch::look_at_all() {
  const auto look = std::make_shared<Look>();
  const std::uint64_t number = ++looks_;
  for (const Registry::Process& each : registry_.process_of_each()) {
    look->processes.push_back({each.id, each.pid, each.start, wanted_.contains(each.id)});
  }
  wanted_.clear();
  const std::function<void()> work = [look] {
    std::for_each(look->processes.begin(), look->processes.end(), look_at);
    keep_ready(look->processes);
  };
  const Result<void> looked = co_await transport::run_detached(loop_, work);
  if (looked) take(*look);
  looked_ = number;
  look_ended_.changed();
}

void HaltWatch::take(const Look& look) {
  std::map<std::string, Known> now;
  for (const Looked& each : look.processes) {
    if (!each.stat) continue;
    Known& known = now[each.id];
    known = {each.condition, each.stat->processor_time, look.at};
    const auto before = known_.find(each.id);
    if (before == known_.end() || before->second.processor_time > known.processor_time) continue;
    const std::chrono::duration<double> used =
        from_ticks(known.processor_time - before->second.processor_time);
    known.condition.cores = used / std::chrono::duration<double>(known.at - before->second.at);
  }
  known_ = std::move(now);
  for (const auto& [id, known] : known_) tell(id);
}

void HaltWatch::unanswered(const std::string& runtime_id) {
  if (asked_.insert(runtime_id).second) asking_.spawn(ask(runtime_id));
}

/// Asks once, and waits however long the answer takes: a runtime answers one question after the other.
Task<void> HaltWatch::ask(std::string runtime_id) {
  DiagnosticPort* const port = registry_.port(runtime_id);
  if (port != nullptr) {
    const auto connection = co_await port->open();
    const auto question = ipc::encode_message(ipc::make_message(ipc::kProcessInfo));
    const transport::Deadline late(loop_, kAnswerLimit, [this, &runtime_id] {
      silent_.insert(runtime_id);
      tell(runtime_id);
    });
    if (connection) {
      const transport::IoStatus written = co_await (*connection)->write(*question);
      if (written == transport::IoStatus::ok) std::ignore = co_await read_first_message(**connection);
    }
  }
  asked_.erase(runtime_id);
  silent_.erase(runtime_id);
  tell(runtime_id);
}

void HaltWatch::tell(const std::string& runtime_id) {
  const auto known = known_.find(runtime_id);
  Halt halt = silent_.contains(runtime_id) ? Halt::silent : Halt::none;
  if (known != known_.end() && known->second.condition.halt != Halt::none)
    halt = known->second.condition.halt;
  const auto was = registry_.set_halt(runtime_id, halt);
  if (was == nullptr) return;
  if (halt == Halt::none) {
    log_->info("{} (pid {}) goes on", was->name, was->pid);
  } else {
    log_->warn("{} (pid {}) is {}", was->name, was->pid, to_string(halt));
  }
}

}  // namespace farport::router
