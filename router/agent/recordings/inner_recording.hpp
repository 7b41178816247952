// What the agent itself has a runtime record, on behalf of a caller.
#pragma once

#include "ipc/event_pipe.hpp"
#include "router/agent/recordings/inner_connection.hpp"

namespace farport::router {

/// One session with a runtime. end() is to be awaited before it goes.
class InnerRecording {
 public:
  /// `connections`, `caller`: must outlive it.
  InnerRecording(transport::Loop& loop, DiagnosticConnections& connections, const Caller& caller,
                 RuntimePtr runtime);
  InnerRecording(const InnerRecording&) = delete;
  InnerRecording& operator=(const InnerRecording&) = delete;

  /// Nothing: it records. Refused: the caller may not, or the runtime does not.
  transport::Task<std::optional<Refusal>> begin(ipc::CollectTracing wanted);
  /// Breaks off whatever it waits for, for a caller that has gone.
  void abandon();
  /// What it records, up to its end. After begin().
  [[nodiscard]] transport::FdStream& stream() { return connection_->stream(); }
  /// Has the runtime say the rest, and end. What can't be stopped is broken off: nobody takes it for whole.
  transport::Task<void> stop();
  /// Passes when nothing of it is left.
  transport::Task<void> end();

 private:
  [[nodiscard]] Result<std::unique_ptr<InnerConnection>> connect() const;

  transport::Loop& loop_;
  DiagnosticConnections& connections_;
  const Caller& caller_;
  RuntimePtr runtime_;
  std::unique_ptr<InnerConnection> connection_;
  ipc::SessionId session_{};
  bool abandoned_ = false;
};

}  // namespace farport::router
