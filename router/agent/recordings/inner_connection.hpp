// A diagnostic connection whose tool is the agent itself, on behalf of a caller.
#pragma once

#include <memory>
#include <optional>

#include "ipc/message.hpp"
#include "router/agent/connections/diagnostic_connection.hpp"

namespace farport::router {

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

}  // namespace farport::router
