// What the agent itself has a runtime record, on behalf of a caller.
#pragma once

#include <memory>
#include <optional>

#include "ipc/event_pipe.hpp"
#include "ipc/message.hpp"
#include "router/agent/connections/diagnostic_connection.hpp"
#include "router/readers/reading.hpp"

namespace farport::router {

/// A diagnostic connection whose tool is the agent itself, on behalf of a caller.
/// Passes the gate, the limits and the audit as a tool's does. Ends its end in good order when it is closed:
/// end() is to be awaited before it goes.
class InnerConnection {
 public:
  /// Errors: the system has no sockets to give. `connections`, `caller`: must outlive it.
  static Result<std::unique_ptr<InnerConnection>> open(transport::Loop& loop,
                                                       DiagnosticConnections& connections,
                                                       const Caller& caller, RuntimePtr runtime);
  InnerConnection(transport::Loop& loop, UniqueFd tool, UniqueFd agent);
  InnerConnection(const InnerConnection&) = delete;
  InnerConnection& operator=(const InnerConnection&) = delete;

  /// Sends the command, and gives the runtime's answer, an error as well. Refused: the agent lets it not
  /// pass, or nothing answers.
  transport::Task<tl::expected<ipc::Message, Refusal>> ask(ipc::Message command);
  /// What the runtime says behind its answer.
  [[nodiscard]] transport::FdStream& stream() { return *tool_; }
  /// Closes it, and passes when the agent has done with it.
  transport::Task<void> end();

 private:
  /// The agent's side.
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

/// The names of a runtime's methods, for a reader that makes a profile.
/// Has the runtime tell the names of all its methods, which takes it a moment, and passes them on, as far as
/// they come. `recording`: one that has not begun.
[[nodiscard]] transport::Task<void> pass_methods_on(transport::Loop& loop, InnerRecording& recording,
                                                    Reading& to);

}  // namespace farport::router
