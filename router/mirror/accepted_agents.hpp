// AcceptedAgents: the agents that dial in at our own port, where nobody can dial them. TLS is the same as to
// an agent's port: they show an agent's certificate, and we one that their grants know.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "router/certificates/credential_watch.hpp"
#include "router/mirror/agent_route.hpp"
#include "router/mirror/remote_agents.hpp"
#include "transport/event.hpp"
#include "transport/fd_stream.hpp"
#include "transport/handshake_limiter.hpp"
#include "transport/rate_limited_log.hpp"

namespace farport::router {

struct AcceptedConnection {
  std::string agent;  ///< See agent_of().
  AgentConnection connection;
};

/// A connection that an agent has dialled, until it is one like any other.
/// Shakes hands, and reads which agent it is (dialled_greeting.hpp). `server_name`: what its certificate must
/// hold; empty: nothing in particular. Errors: it is none; `cause` is ECONNRESET where the peer has just
/// gone. `time`: see shake_hands().
transport::Task<Result<AcceptedConnection>> greet(std::unique_ptr<transport::FdStream> connection,
                                                  std::string server_name, CredentialWatch& credentials,
                                                  transport::Share& time);

// AcceptedRoute: to an agent that dials us. Its connections come when the agent likes.

class AcceptedRoute final : public AgentRoute {
 public:
  AcceptedRoute(transport::Loop& loop, AgentConnection first)
      : text_(first.address), next_(std::move(first)), given_(loop) {}

  transport::Task<Result<AgentConnection>> open() override {
    while (!next_) co_await given_.wait();
    AgentConnection taken = std::move(*next_);
    next_.reset();
    co_return taken;
  }
  [[nodiscard]] std::string text() const override { return text_; }

  /// For the next open(). One that is given before this one has been taken is closed: the agent has left it.
  void give(AgentConnection connection) {
    next_ = std::move(connection);
    given_.set();
  }
  /// Whether there is one for it.
  [[nodiscard]] bool has_next() const { return next_.has_value(); }

 private:
  std::string text_;
  std::optional<AgentConnection> next_;
  transport::Event given_;
};

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
