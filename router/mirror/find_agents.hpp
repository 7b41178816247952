// Finding the agents behind a name by sending the same request to each.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "router/certificates/credential_watch.hpp"
#include "router/mirror/agent_route.hpp"
#include "router/mirror/session_manager.hpp"

namespace farport::router {

/// Where one agent may be: an address, or a command that leads there. Neither is set if a proxy dials.
struct AgentPlace {
  std::optional<transport::Address> address{};
  std::shared_ptr<const Reach> reach{};
};

/// An agent that a command has found, and the session for all requests to it.
class AgentClient {
 public:
  AgentClient(transport::Loop& loop, const MirroredAgent& agent, AgentPlace place,
              const ClientOptions& options);
  AgentClient(const AgentClient&) = delete;
  AgentClient& operator=(const AgentClient&) = delete;
  ~AgentClient();

  /// Opens the session with a GET as its first request. From then on the session is reopened whenever it
  /// breaks. Fails if the way there fails, or if the agent refuses or does not answer for 20 s; then there is
  /// no session.
  transport::Task<Result<std::string>> open(std::string path);
  /// After open(): sends a GET in the session, or in the next one if it is broken. Fails like open().
  transport::Task<Result<std::string>> get(std::string path) { return ask("GET", std::move(path)); }
  /// The same with another method, for a request that may be sent twice.
  transport::Task<Result<std::string>> ask(std::string method, std::string path);
  /// Ends the session in good order.
  transport::Task<void> leave();

  /// Calls `told` with the reason each time the session breaks from now on.
  void on_break(SessionManager::OnEnd told) { on_break_ = std::move(told); }
  /// For requests that outlive a session.
  [[nodiscard]] SessionManager& sessions() { return sessions_; }

  /// Whether there is a session.
  [[nodiscard]] bool connected() const { return sessions_.session() != nullptr; }
  /// The agent's identity; see AgentSession::agent().
  [[nodiscard]] const std::string& agent() const { return agent_; }
  /// Where the agent has answered, for people.
  [[nodiscard]] const std::string& address() const { return address_; }
  /// The command that leads there; nullptr if an address does.
  [[nodiscard]] const Reach* reach() const { return reach_.get(); }
  /// Adds another place where the agent has answered, to be dialled if this one fails.
  void add_place(const AgentPlace& other);

 private:
  [[nodiscard]] std::unique_ptr<AgentRoute> route_to(const MirroredAgent& agent, const AgentPlace& place,
                                                     transport::Share& time);
  transport::Task<void> begin(AgentSession& session, std::string path);
  void ended(const Error& why);

  transport::Loop& loop_;
  Log log_;
  std::string address_;
  std::shared_ptr<const Reach> reach_;
  std::optional<CredentialWatch> credentials_;
  TcpRoute* tcp_ = nullptr;  ///< The route of `sessions_`, if it is a TcpRoute.
  SessionManager sessions_;
  SessionManager::OnEnd on_break_;
  std::string agent_;
  std::optional<Result<std::string>> first_;  ///< The answer to the first request.
  transport::Event answered_;
  transport::Task<void> dialling_;
};

/// An agent and its answer.
struct FoundAgent {
  std::unique_ptr<AgentClient> client;
  std::string answer;
};

using FoundAgents = std::vector<FoundAgent>;

/// Sends a GET to every agent behind a name, all at once: at each address, or by each command that leads to
/// one. An agent with several addresses is returned once. Addresses without a session are left out if another
/// one has answered. If none answers, fails with the first place's error.
[[nodiscard]] transport::Task<Result<FoundAgents>> find_agents(transport::Loop& loop, MirroredAgent agent,
                                                               ClientOptions options, std::string path);

/// The same for several names at once, with results in their order. An agent behind two names is returned for
/// the first only, which may leave the second one empty.
[[nodiscard]] transport::Task<std::vector<Result<FoundAgents>>> find_all_agents(
    transport::Loop& loop, std::vector<MirroredAgent> agents, ClientOptions options, std::string path);

/// Ends their sessions in good order, all at once.
transport::Task<void> leave_agents(transport::Loop& loop, FoundAgents agents);
transport::Task<void> leave_all(transport::Loop& loop, std::vector<Result<FoundAgents>> agents);

}  // namespace farport::router
