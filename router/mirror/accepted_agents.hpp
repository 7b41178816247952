// AcceptedAgents: the agents that dial in at the mirror's own port, because nobody can dial them.
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

/// Does the TLS handshake over a connection that an agent has dialled, with the client's side of TLS here,
/// and reads which agent it is. `server_name`: the name that its certificate must hold; empty: any. `time`:
/// see shake_hands(). Fails if the peer is no agent; `cause` is ECONNRESET if it just closed.
transport::Task<Result<AcceptedConnection>> greet(std::unique_ptr<transport::FdStream> connection,
                                                  std::string server_name, CredentialWatch& credentials,
                                                  transport::Share& time);

/// The route to an agent that dials in: open() waits for its next connection.
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

  /// Provides a connection for the next open(). A connection that is replaced before it was taken is closed,
  /// since the agent has left it.
  void give(AgentConnection connection) {
    next_ = std::move(connection);
    given_.set();
  }
  /// Whether a connection waits for open().
  [[nodiscard]] bool has_next() const { return next_.has_value(); }

 private:
  std::string text_;
  std::optional<AgentConnection> next_;
  transport::Event given_;
};

/// The agents show an agent's certificate, and the mirror one to which they grant access, as if the mirror
/// had dialled.
class AcceptedAgents final : public RemoteAgents {
 public:
  /// Listens at the addresses. `server_name`: the name that the agents' certificates must hold; empty: any
  /// agent's certificate of the CA will do. Errors name the address.
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
  /// Whether an agent has dialled in, and all that have are settled.
  [[nodiscard]] bool settled() const override { return !links_.empty() && RemoteAgents::settled(); }
  [[nodiscard]] bool follows(const std::string& agent) const override;

 private:
  void link_changed(AgentLink& /*link*/) override { changed_.set(); }
  [[nodiscard]] std::string search_error() const override;
  transport::Task<void> accept(transport::Listener& listener);
  transport::Task<void> admit(std::unique_ptr<transport::FdStream> connection);
  void take(std::string agent, AgentConnection connection);
  void begin(std::string agent, AgentConnection connection);
  /// Each link of this object has a route of this kind.
  [[nodiscard]] static AcceptedRoute& route_of(const LinkEntry& entry) {
    return static_cast<AcceptedRoute&>(*entry.route);
  }

  std::string server_name_;
  CredentialWatch& credentials_;
  std::vector<std::unique_ptr<transport::Listener>> listeners_;
  transport::HandshakeLimiter handshakes_;
  transport::Share strangers_;  ///< Loop time for peers that dial in, who may be anybody.
  transport::RateLimitedLog warnings_;
  transport::Event changed_;
  transport::TaskSet accepting_;
};

}  // namespace farport::router
