// ProxyRoute: to an agent's port, through an HTTP proxy.
#pragma once

#include <string>

#include "router/certificates/credential_watch.hpp"
#include "router/mirror/agent_route.hpp"
#include "router/mirror/mirrored_agent.hpp"

namespace farport::router {

/// Connects to an agent through the proxy, and shakes hands. Errors say what to do.
transport::Task<Result<AgentConnection>> open_through(transport::Loop& loop, Proxy proxy, AgentAddress agent,
                                                      SSL_CTX* context, transport::Share& time);

class ProxyRoute final : public AgentRoute {
 public:
  ProxyRoute(transport::Loop& loop, Proxy proxy, AgentAddress agent, CredentialWatch& credentials,
             transport::Share& time)
      : loop_(loop),
        proxy_(std::move(proxy)),
        agent_(std::move(agent)),
        credentials_(credentials),
        time_(time) {}

  transport::Task<Result<AgentConnection>> open() override;
  [[nodiscard]] std::string text() const override { return agent_.text(); }

 private:
  transport::Loop& loop_;
  Proxy proxy_;
  AgentAddress agent_;
  CredentialWatch& credentials_;
  transport::Share& time_;
};

}  // namespace farport::router
