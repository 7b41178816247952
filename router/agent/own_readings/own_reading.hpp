// OwnReading: a session that the agent keeps in a runtime for itself, read by a reader.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/log.hpp"
#include "ipc/event_pipe.hpp"
#include "router/agent/runtimes/meter_claims.hpp"
#include "router/agent/runtimes/own_session.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "router/readers/reading.hpp"
#include "transport/event.hpp"
#include "transport/fd_stream.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

/// What is read, and of whom.
struct OwnReadingSettings {
  const char* what = "";  ///< "the counters": completes "cannot read … of orders".
  const char* option =
      "";  ///< The one that wants it, to whom the reader's memory is charged: "--app-metrics".
  ReadingTask::Kind kind{};
  std::string selection{};        ///< For the reader: ReadingRequest::text.
  MeterClaims* meters = nullptr;  ///< If it reads meters: gives way to callers who read them otherwise.
  /// What a runtime is to record.
  std::function<ipc::CollectTracing(const Runtime&)> recording{};
};

/// Keeps a session with one runtime for as long as the runtime is listed.
class OwnReading {
 public:
  /// Gets each frame but notices, which are logged. Errors: the reader has sent something malformed.
  using Take = std::function<Result<void>(Reading::Frame frame)>;

  /// Begins at once, and tries again after a while if the session fails or ends. `lost` is called each time
  /// that it has ended. All references must outlive it.
  OwnReading(transport::Loop& loop, Registry& registry, MemoryGroups& groups, Readers readers, const Log& log,
             const OwnReadingSettings& settings, Runtime runtime, Take take, std::function<void()> lost);
  OwnReading(const OwnReading&) = delete;
  OwnReading& operator=(const OwnReading&) = delete;

  [[nodiscard]] const Runtime& runtime() const { return runtime_; }
  /// Takes over what has changed about the runtime.
  void change(Runtime runtime) { runtime_ = std::move(runtime); }
  /// Why it does not read at present; empty if it does.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

  /// Has the runtime stop the session for good.
  transport::Task<void> end();

 private:
  enum class HowEnded : std::uint8_t { by_itself, gave_way, gave_back };

  transport::Task<void> run();
  transport::Task<void> stop();
  transport::Task<void> tell_to_stop(ipc::SessionId session);
  /// Returns whether it gave way to a caller, and so is to be tried again at once.
  transport::Task<bool> read_once();
  void note_given_back();
  transport::Task<HowEnded> given_up(transport::Event& needed);
  transport::Task<Result<HowEnded>> record(ReadingRequest wanted, transport::Event& needed);
  transport::Task<void> read_to_end(transport::FdStream& from, ReadingRequest wanted, Result<void>& how,
                                    transport::Event& over);
  transport::Task<Result<void>> read(transport::FdStream& from, ReadingRequest wanted);
  transport::Task<void> claimed();

  transport::Loop& loop_;
  Registry& registry_;
  MemoryGroups& groups_;
  Readers readers_;
  const Log& log_;
  const OwnReadingSettings& settings_;
  Runtime runtime_;
  Take take_;
  std::function<void()> lost_;
  std::string doing_;  ///< "read the counters of"
  std::string why_not_ = "its session has not begun yet";
  std::optional<ipc::SessionId> session_;
  bool stopping_ = false;
  transport::Condition stopped_;
  transport::TaskSet tasks_;
};

}  // namespace farport::router
