#include "router/agent/runtimes/start_watch.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>

#include "base/process_stat.hpp"
#include "router/recordings/counters.hpp"
#include "transport/offload.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

/// By then a runtime has run what its start runs, however slow the machine is.
constexpr std::chrono::milliseconds kProcessorTime{1000};
constexpr std::chrono::milliseconds kAge{1000};
/// Between looks.
constexpr transport::Milliseconds kShortestBetweenLooks{100};
constexpr transport::Milliseconds kLongestBetweenLooks{1000};
/// A process that has just started has few.
constexpr std::size_t kMostThreadsSeen = 64;

/// One that waits for the processor, or for the disk, may do so anywhere in its start.
bool is_busy(const ProcessStat& thread) {
  return thread.state == 'R' || thread.state == 'D';
}

}  // namespace

bool StartWatch::is_over() {
  const auto stat = process_stat(pid_);
  if (!stat || from_ticks(stat->processor_time) >= kProcessorTime) return true;
  const bool is_young = std::chrono::system_clock::now() - time_at(stat->start_time) < kAge;
  const bool rests = !is_busy(*stat) && !std::ranges::any_of(thread_stats(pid_, kMostThreadsSeen), is_busy);
  const bool has_rested = rests && rested_at_ == stat->processor_time;
  rested_at_ = rests ? std::optional(stat->processor_time) : std::nullopt;
  return has_rested && !is_young;
}

transport::Task<void> until_started(const Registry& registry, std::string runtime_id,
                                    ipc::CollectTracing session, transport::Milliseconds longest) {
  const DiagnosticPort* const port = registry.port(runtime_id);
  const RuntimePtr runtime = registry.find(runtime_id);
  if (port == nullptr || runtime == nullptr || runtime->state != RuntimeState::running) co_return;
  if (!meter_reading(session)) co_return;
  using Clock = std::chrono::steady_clock;
  const auto give_up = Clock::now() + longest;
  const auto start = std::make_shared<StartWatch>(port->process().pid);
  // Not on the loop: a process may have many threads, and a user many processes.
  const std::function<bool()> look = [start] { return start->is_over(); };
  for (transport::Milliseconds pause = kShortestBetweenLooks; Clock::now() < give_up;) {
    const bool is_over = co_await transport::offloaded(registry.loop(), look);
    if (is_over) co_return;
    co_await transport::sleep(registry.loop(), pause);
    pause = std::min(2 * pause, kLongestBetweenLooks);
  }
}

}  // namespace farport::router
