// RemoteAgents: the agents behind what a user names: one, several, or others as time goes on.
#pragma once

#include <string>
#include <vector>

#include "router/mirror/agent_link.hpp"

namespace farport::router {

class RemoteAgents {
 public:
  RemoteAgents() = default;
  RemoteAgents(const RemoteAgents&) = delete;
  RemoteAgents& operator=(const RemoteAgents&) = delete;
  virtual ~RemoteAgents() = default;

  /// Follows them until it is cancelled.
  virtual transport::Task<void> run() = 0;
  /// Ends the links in good order. run() must not go on.
  virtual transport::Task<void> leave() = 0;

  /// Whether each has listed its runtimes or failed to; or one has, and the others had their time.
  [[nodiscard]] virtual bool settled() const = 0;
  /// Why none has listed its runtimes; empty where one has.
  [[nodiscard]] virtual std::string last_error() const = 0;
  /// As the user names them.
  [[nodiscard]] virtual const std::string& name() const = 0;
  /// Those that a person would want to hear of.
  [[nodiscard]] virtual std::vector<const AgentLink*> links() const = 0;
};

}  // namespace farport::router
