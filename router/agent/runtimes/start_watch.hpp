// Whether a runtime is still in its start, when a session with meters could stop it for ever.
//
// The runtime's thread that begins a session holds the lock of all EventSources while it tells each of them.
// With meters it then rents from an ArrayPool (MetricsEventSource's ParseSpecs). If the application's first
// thread is just making the EventSource of the pools (ArrayPoolEventSource's constructor), that one waits for
// the lock, and the other for the EventSource: neither the application nor its diagnostics ever go on.
// Measured with .NET 10.0.12, without farport, beside events of the runtime in the same session: 28 of 144
// starts when the session began within a tenth of a second after the socket was there, and none of 144 from
// .3 s on. Without meters, none of 320: EventCounters, logs and the runtime's events are what the recorder
// asks for, which must not miss what ends an application in its start.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

#include "ipc/event_pipe.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "transport/task.hpp"

namespace farport::router {

/// A process that may have been started, or resumed, a moment ago.
class StartWatch {
 public:
  explicit StartWatch(pid_t pid) : pid_(pid) {}

  /// Looks at the process. True if it has had a second of processor time; if it is a second old, and all its
  /// threads have waited since the look before; or if it is not visible here.
  [[nodiscard]] bool is_over();

 private:
  pid_t pid_;
  std::optional<std::uint64_t> rested_at_;  ///< The processor time that it had when it last waited.
};

/// How long the agent's own sessions wait for that: a runtime that gets little of a processor takes its time.
inline constexpr transport::Milliseconds kLongestStart{60'000};

/// Await this before each session: if that has meters, waits until the start of the runtime is over, but not
/// longer than `longest`. A runtime that is suspended before its start has no EventSources yet.
transport::Task<void> until_started(const Registry& registry, std::string runtime_id,
                                    ipc::CollectTracing session, transport::Milliseconds longest);

}  // namespace farport::router
