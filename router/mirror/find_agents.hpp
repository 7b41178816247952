// Finding the agents behind what a person has named, by asking each of them the same.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "router/certificates/credential_watch.hpp"
#include "router/mirror/agent_route.hpp"
#include "router/mirror/session_manager.hpp"

namespace farport::router {

// AgentClient: an agent that a command has found, and the session in which it asks everything.

/// Where one agent may be, behind what a person has named: an address, or a command that leads there. Neither
/// is set where a proxy dials.
struct AgentPlace {
  std::optional<transport::Address> address{};
  std::shared_ptr<const Reach> reach{};
};

class AgentClient {
 public:
  AgentClient(transport::Loop& loop, const MirroredAgent& agent, AgentPlace place,
              const ClientOptions& options);
  AgentClient(const AgentClient&) = delete;
  AgentClient& operator=(const AgentClient&) = delete;
  ~AgentClient();

  /// Opens the session, and sends a GET as the first request in it; from then on the session is opened again
  /// whenever it breaks. Errors: the way there, or the agent: it refuses, or does not answer for 20 s. There
  /// is no session then.
  transport::Task<Result<std::string>> open(std::string path);
  /// After open(): sends a GET in the session, or in the next one where it is broken. Errors as above.
  transport::Task<Result<std::string>> get(std::string path);
  /// Ends the session in good order.
  transport::Task<void> leave();

  /// `told`: why the session has broken, each time from now on.
  void on_break(SessionManager::OnEnd told) { on_break_ = std::move(told); }
  /// For requests that outlive a session.
  [[nodiscard]] SessionManager& sessions() { return sessions_; }

  /// Whether there is a session.
  [[nodiscard]] bool connected() const { return sessions_.session() != nullptr; }
  /// Which agent it is: see AgentSession::agent().
  [[nodiscard]] const std::string& agent() const { return agent_; }
  /// Where it has answered, for people.
  [[nodiscard]] const std::string& address() const { return address_; }
  /// The way that leads there, if it is one without a port.
  [[nodiscard]] const Reach* reach() const { return reach_.get(); }
  /// Another place at which it has answered, to dial if this one fails.
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
  TcpRoute* tcp_ = nullptr;  ///< Of the sessions, where it is one.
  SessionManager sessions_;
  SessionManager::OnEnd on_break_;
  std::string agent_;
  std::optional<Result<std::string>> first_;  ///< What the first request was answered with.
  transport::Event answered_;
  transport::Task<void> dialling_;
};

/// An agent, and what it has answered.
struct FoundAgent {
  std::unique_ptr<AgentClient> client;
  std::string answer;
};

using FoundAgents = std::vector<FoundAgent>;

/// Sends a GET to every agent behind a name, all at once: at each of its addresses, or by each command that
/// leads to one. An agent is there once, however many addresses it has. Addresses that give no session while
/// another has answered are left out. Errors: the first place's, if none answers.
[[nodiscard]] transport::Task<Result<FoundAgents>> find_agents(transport::Loop& loop, MirroredAgent agent,
                                                               ClientOptions options, std::string path);

/// The same of several names at once, in their order. An agent that is behind two of them is in the first
/// one's alone; nothing may be left for the other then.
[[nodiscard]] transport::Task<std::vector<Result<FoundAgents>>> find_all_agents(
    transport::Loop& loop, std::vector<MirroredAgent> agents, ClientOptions options, std::string path);

/// Ends their sessions in good order, all at once.
transport::Task<void> leave_agents(transport::Loop& loop, FoundAgents agents);
transport::Task<void> leave_all(transport::Loop& loop, std::vector<Result<FoundAgents>> agents);

}  // namespace farport::router
