#include "router/agent/runtimes/start_watch.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

#include "base/process_stat.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

/// By then a runtime has run what its start runs, however slow the machine is.
constexpr std::chrono::milliseconds kProcessorTime{1000};
constexpr std::chrono::milliseconds kAge{1000};
constexpr transport::Milliseconds kLookEvery{100};
/// A process that has just started has few.
constexpr std::size_t kMaxThreads = 256;
/// The runtime's own providers, which run no managed code.
constexpr std::array<std::string_view, 4> kNative{
    "Microsoft-Windows-DotNETRuntime", "Microsoft-Windows-DotNETRuntimeRundown",
    "Microsoft-Windows-DotNETRuntimePrivate", "Microsoft-DotNETCore-SampleProfiler"};

/// One that waits for the processor, or for the disk, may do so anywhere in its start.
bool is_busy(const ProcessStat& thread) {
  return thread.state == 'R' || thread.state == 'D';
}

}  // namespace

bool StartWatch::is_over() {
  const auto stat = process_stat(pid_);
  if (!stat || from_ticks(stat->processor_time) >= kProcessorTime) return true;
  const bool is_young = std::chrono::system_clock::now() - time_at(stat->start_time) < kAge;
  const bool rests = !std::ranges::any_of(thread_stats(pid_, kMaxThreads), is_busy);
  const bool has_rested = rests && rested_at_ == stat->processor_time;
  rested_at_ = rests ? std::optional(stat->processor_time) : std::nullopt;
  return has_rested && !is_young;
}

bool tells_event_sources(const ipc::CollectTracing& session) {
  return std::ranges::any_of(session.providers, [](const ipc::Provider& each) {
    return std::ranges::find(kNative, each.name) == kNative.end();
  });
}

transport::Task<void> until_started(const Registry& registry, std::string runtime_id,
                                    ipc::CollectTracing session, transport::Milliseconds longest) {
  const DiagnosticPort* const port = registry.port(runtime_id);
  const RuntimePtr runtime = registry.find(runtime_id);
  if (port == nullptr || runtime == nullptr || runtime->state != RuntimeState::running) co_return;
  if (!tells_event_sources(session)) co_return;
  using Clock = std::chrono::steady_clock;
  const auto give_up = Clock::now() + longest;
  StartWatch start(port->process().pid);
  while (!start.is_over() && Clock::now() < give_up) co_await transport::sleep(registry.loop(), kLookEvery);
}

}  // namespace farport::router
