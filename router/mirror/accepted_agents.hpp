// AcceptedAgents: the agents that dial in at our own port, where nobody can dial them. TLS is the same as to
// an agent's port: they show an agent's certificate, and we one that their grants know.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "router/certificates/credential_watch.hpp"
#include "router/mirror/accepted_route.hpp"
#include "router/mirror/mirrored_agent.hpp"
#include "router/mirror/remote_agents.hpp"
#include "router/mirror/running_link.hpp"
#include "transport/handshake_limiter.hpp"
#include "transport/rate_limited_log.hpp"

namespace farport::router {

class AcceptedAgents final : public RemoteAgents, private LinkOwner {
 public:
  /// Listens at the addresses. `server_name`: what the agents' certificates must hold; empty: any agent's
  /// certificate of the CA will do. Errors name the address.
  static Result<std::unique_ptr<AcceptedAgents>> listen(MirrorServices& services, MirrorChoice choice,
                                                        const std::vector<transport::Address>& addresses,
                                                        std::string server_name,
                                                        CredentialWatch& credentials);

  AcceptedAgents(MirrorServices& services, MirrorChoice choice,
                 std::vector<std::unique_ptr<transport::Listener>> listeners, std::string server_name,
                 CredentialWatch& credentials);
  ~AcceptedAgents() override;

  transport::Task<void> run() override;
  transport::Task<void> leave() override;
  /// Whether there is one at least.
  [[nodiscard]] bool settled() const override;
  [[nodiscard]] std::string last_error() const override;
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const MirrorChoice& choice() const override { return choice_; }
  [[nodiscard]] bool follows(const std::string& agent) const override;
  [[nodiscard]] std::vector<const AgentLink*> links() const override;

 private:
  struct Kept {
    std::string agent;               ///< See agent_of().
    AcceptedRoute* route = nullptr;  ///< The link's own.
    RunningLink link;
  };

  bool may_follow(AgentLink& /*link*/, const AgentSession& /*session*/) override { return true; }
  void link_changed(AgentLink& /*link*/) override { changed_.set(); }

  transport::Task<void> accept(transport::Listener& listener);
  transport::Task<void> admit(std::unique_ptr<transport::FdStream> connection);
  void take(std::string agent, AgentConnection connection);
  void add_link(std::string agent, AgentConnection connection);
  void remove_gone();

  MirrorServices& services_;
  MirrorChoice choice_;
  std::string server_name_;
  CredentialWatch& credentials_;
  std::string name_;
  std::vector<std::unique_ptr<transport::Listener>> listeners_;
  transport::HandshakeLimiter handshakes_;
  transport::Share strangers_;  ///< For those who dial in: anybody may.
  transport::RateLimitedLog warnings_;
  transport::Event changed_;
  std::vector<Kept> links_;
  transport::TaskSet tasks_;
};

}  // namespace farport::router
