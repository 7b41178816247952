// ProxiedAgent: the one agent behind HOST:PORT as a proxy sees it. Who resolves the name there is the proxy.
#pragma once

#include <string>

#include "router/mirror/proxy_route.hpp"
#include "router/mirror/remote_agents.hpp"

namespace farport::router {

class ProxiedAgent final : public RemoteAgents, private LinkOwner {
 public:
  ProxiedAgent(MirrorServices& services, MirrorChoice choice, const Proxy& proxy, const AgentAddress& agent,
               CredentialWatch& credentials)
      : name_(agent.text()),
        choice_(std::move(choice)),
        link_(services, *this, choice_,
              std::make_unique<ProxyRoute>(services.loop, proxy, agent, credentials,
                                           services.session.agents->strangers())) {}

  transport::Task<void> run() override { return link_.run(); }
  transport::Task<void> leave() override { return link_.leave(); }
  [[nodiscard]] bool settled() const override { return link_.settled(); }
  [[nodiscard]] std::string last_error() const override { return link_.last_error(); }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const MirrorChoice& choice() const override { return choice_; }
  [[nodiscard]] bool follows(const std::string& agent) const override { return link_.agent() == agent; }
  [[nodiscard]] std::vector<const AgentLink*> links() const override { return {&link_}; }

 private:
  bool may_follow(AgentLink& /*link*/, const AgentSession& /*session*/) override { return true; }
  void link_changed(AgentLink& /*link*/) override {}

  std::string name_;
  MirrorChoice choice_;
  AgentLink link_;
};

}  // namespace farport::router
