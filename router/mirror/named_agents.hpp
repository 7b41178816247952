// NamedAgents: the agents behind one HOST:PORT, whose addresses may change over time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "router/mirror/agent_route.hpp"
#include "router/mirror/remote_agents.hpp"

namespace farport::router {

/// Looks the name up repeatedly, since it may lead to other agents later: a pod is replaced, a headless
/// service grows. An agent with several addresses is followed once, since it tells its identity.
class NamedAgents final : public RemoteAgents {
 public:
  NamedAgents(MirrorServices& services, MirrorChoice choice, AgentAddress name, CredentialWatch& credentials);
  ~NamedAgents() override;

  transport::Task<void> run() override;
  transport::Task<void> leave() override;
  [[nodiscard]] bool settled() const override;
  /// Not one that is given up: leave_to_another() gives it up when it is back.
  [[nodiscard]] bool follows(const std::string& agent) const override;
  [[nodiscard]] bool followed_elsewhere(const std::string& agent) const override;
  [[nodiscard]] bool is_alias() const override;
  /// Leaves out addresses that were never reached once an address of the other family is connected.
  [[nodiscard]] std::vector<const AgentLink*> links() const override;

 private:
  /// An address whose agent is followed under another name.
  struct Elsewhere {
    transport::Address address;
    std::string agent;
  };

  bool may_follow(AgentLink& link, const AgentSession& session) override;
  void link_changed(AgentLink& link) override;

  transport::Task<void> dial_pending();
  void take(std::vector<transport::Address> addresses);
  void note_failure(const Error& why);
  [[nodiscard]] bool leave_to_another(LinkEntry& own, const transport::Address& address);
  void dial(const transport::Address& address);
  [[nodiscard]] std::string search_error() const override { return lookup_error_; }
  /// Each link of this object has a route over TCP.
  [[nodiscard]] static TcpRoute& route_of(const LinkEntry& entry) {
    return static_cast<TcpRoute&>(*entry.route);
  }
  /// Changes the addresses of the link's agent.
  static void move_to(LinkEntry& entry, std::vector<transport::Address> addresses);
  [[nodiscard]] LinkEntry* kept(const AgentLink& link);
  [[nodiscard]] LinkEntry* other_with(const AgentLink& link, const std::string& instance);
  [[nodiscard]] bool claimed(const transport::Address& address) const;
  /// Whether the name has several agents, rather than several addresses of one.
  [[nodiscard]] bool is_fleet() const;

  AgentAddress agent_;
  CredentialWatch& credentials_;
  bool looked_up_ = false;
  std::string lookup_error_;
  std::vector<transport::Address> addresses_;  ///< Current addresses of the name.
  std::vector<transport::Address> pending_;    ///< Those still to be dialled.
  transport::Event pending_changed_;
  transport::Event look_now_;
  std::size_t outcomes_ = 0;
  std::optional<transport::Deadline> others_;  ///< Runs since the first agent has listed its runtimes.
  std::vector<Elsewhere> elsewhere_;
  transport::TaskSet dialling_;
};

}  // namespace farport::router
