// ReachedAgents: the agent behind a command.
#pragma once

#include <string>
#include <vector>

#include "router/mirror/remote_agents.hpp"
#include "router/reach/reach.hpp"

namespace farport::router {

class ReachedAgents final : public RemoteAgents, private LinkOwner {
 public:
  ReachedAgents(MirrorServices& services, MirrorChoice choice, const std::shared_ptr<const Reach>& reach);

  transport::Task<void> run() override { return link_.run(); }
  transport::Task<void> leave() override { return link_.leave(); }
  [[nodiscard]] bool settled() const override { return link_.settled(); }
  [[nodiscard]] std::string last_error() const override { return link_.last_error(); }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::vector<const AgentLink*> links() const override { return {&link_}; }

 private:
  bool may_follow(AgentLink& /*link*/, const AgentSession& /*session*/) override { return true; }
  void link_changed(AgentLink& /*link*/) override {}

  std::string name_;
  AgentLink link_;
};

}  // namespace farport::router
