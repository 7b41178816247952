// What the agent itself asks a runtime for, on behalf of a caller.
#pragma once

#include <memory>
#include <optional>

#include "ipc/event_pipe.hpp"
#include "ipc/message.hpp"
#include "router/agent/connections/diagnostic_connection.hpp"
#include "router/readers/reading.hpp"

namespace farport::router {

/// A diagnostic connection whose tool is the agent itself, on behalf of a caller. It passes the gate, the
/// limits and the audit like a tool's. Await end() before destroying it.
class InnerConnection {
 public:
  /// Errors: the system has no sockets left. `connections` and `caller` must outlive it.
  static Result<std::unique_ptr<InnerConnection>> open(transport::Loop& loop,
                                                       DiagnosticConnections& connections,
                                                       const Caller& caller, RuntimePtr runtime);
  InnerConnection(transport::Loop& loop, UniqueFd tool, UniqueFd agent);
  InnerConnection(const InnerConnection&) = delete;
  InnerConnection& operator=(const InnerConnection&) = delete;

  /// Sends a command and returns the runtime's answer, which may be an error. Refused if the gate does not
  /// allow the command, or nothing answers.
  transport::Task<tl::expected<ipc::Message, Refusal>> ask(ipc::Message command);
  /// What the runtime sends after its answer.
  [[nodiscard]] transport::FdStream& stream() { return *tool_; }
  /// Closes the connection, and waits until the agent's side has ended too.
  transport::Task<void> end();

 private:
  /// The agent's side of the connection.
  class Endpoint final : public ToolEndpoint {
   public:
    Endpoint(transport::Loop& loop, UniqueFd fd)
        : stream_(loop, std::move(fd), "the agent's own connection") {
      stream_.reset_unless_finished();
    }
    [[nodiscard]] transport::Stream& stream() override { return stream_; }
    void accept(bool) override {}
    transport::Task<void> refuse(Refusal refusal) override;
    [[nodiscard]] const std::optional<Refusal>& refused() const { return refused_; }

   private:
    transport::FdStream stream_;
    std::optional<Refusal> refused_;
  };

  std::optional<transport::FdStream> tool_;
  Endpoint endpoint_;
  transport::TaskSet carrying_;
};

/// One EventPipe session of a runtime, on behalf of a caller. Await end() before destroying it.
class InnerRecording {
 public:
  /// `connections` and `caller` must outlive it.
  InnerRecording(transport::Loop& loop, DiagnosticConnections& connections, const Caller& caller,
                 RuntimePtr runtime);
  InnerRecording(const InnerRecording&) = delete;
  InnerRecording& operator=(const InnerRecording&) = delete;

  /// Starts the session. Returns nothing on success. Refused if the caller may not, or the runtime does not
  /// start it.
  transport::Task<std::optional<Refusal>> begin(ipc::CollectTracing wanted);
  /// Breaks off whatever it waits for, because the caller has gone.
  void abandon();
  /// What the runtime writes, up to its end. Call this after begin().
  [[nodiscard]] transport::FdStream& stream() { return connection_->stream(); }
  /// Asks the runtime to send the rest and end. If that fails, the stream is aborted, so that nobody takes
  /// the recording for complete.
  transport::Task<void> stop();
  /// Waits until the connection has ended.
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

/// Has the runtime name all its methods, which takes it a moment, and passes on as much as comes, for a
/// reader that makes a profile. `recording` must not have begun.
[[nodiscard]] transport::Task<void> pass_methods_on(transport::Loop& loop, InnerRecording& recording,
                                                    Reading& to);

}  // namespace farport::router
