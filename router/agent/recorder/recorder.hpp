// Recorder: keeps the last minutes of what each runtime reports, for when something has gone wrong and nobody
// looked.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "router/agent/recorder/recent_blocks.hpp"
#include "router/agent/runtimes/own_session.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "router/wire/runtime.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

struct RecorderSettings {
  std::uint64_t runtime_bytes = std::uint64_t{8} << 20;  ///< The memory for one runtime at most.
};

/// Records one runtime for as long as it is listed.
class RuntimeRecorder {
 public:
  /// Begins at once, and tries again after a while if the session fails or ends. `limit` returns the memory
  /// that it may take now, in bytes. All references must outlive it.
  RuntimeRecorder(transport::Loop& loop, Registry& registry, const Log& log,
                  std::function<std::size_t()> limit, Runtime runtime);
  RuntimeRecorder(const RuntimeRecorder&) = delete;
  RuntimeRecorder& operator=(const RuntimeRecorder&) = delete;

  /// Takes over what has changed about the runtime.
  void change(Runtime runtime) { runtime_ = std::move(runtime); }
  /// Has the runtime stop the session for good.
  transport::Task<void> end();

  [[nodiscard]] const RecentBlocks& blocks() const { return blocks_; }

 private:
  transport::Task<void> run();
  transport::Task<Result<void>> record();
  transport::Task<Result<void>> take_all(transport::FdStream& from);

  transport::Loop& loop_;
  Registry& registry_;
  const Log& log_;
  std::function<std::size_t()> limit_;
  Runtime runtime_;
  RecentBlocks blocks_;
  std::optional<ipc::SessionId> session_;
  transport::TaskSet tasks_;
};

/// Records all runtimes of the registry. All recordings together take a quarter of the memory that the agent
/// may use, at most.
class Recorder {
 public:
  using Clock = RecentBlocks::Clock;

  Recorder(transport::Loop& loop, Registry& registry, Log log, RecorderSettings settings);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Follows the registry until it is cancelled.
  transport::Task<void> run() { return kept_.run(); }
  /// Stops all sessions, and waits for that a limited time.
  transport::Task<void> end();

  /// What a runtime has reported since `since`, as far as it is kept; nothing if nothing is.
  [[nodiscard]] std::optional<RecentFile> file(const std::string& runtime_id, Clock::time_point since) const;

 private:
  [[nodiscard]] std::size_t limit() const;

  Log log_;
  RecorderSettings settings_;
  std::uint64_t total_;  ///< For all runtimes, in bytes.
  PerRuntime<RuntimeRecorder> kept_;
};

}  // namespace farport::router
