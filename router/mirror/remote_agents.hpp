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
  /// Which of the agents' runtimes are mirrored, and what the agents' user calls them.
  [[nodiscard]] virtual const MirrorChoice& choice() const = 0;
  /// Whether this agent (AgentSession::agent()) is followed here.
  [[nodiscard]] virtual bool follows(const std::string& agent) const = 0;
  /// Whether this agent is one of these, and followed elsewhere, where it was named, too.
  [[nodiscard]] virtual bool leaves_to_another(const std::string& /*agent*/) const { return false; }
  /// Whether all of these are followed elsewhere.
  [[nodiscard]] virtual bool is_another_name() const { return false; }
  /// Those that a person would want to hear of.
  [[nodiscard]] virtual std::vector<const AgentLink*> links() const = 0;
};

}  // namespace farport::router
