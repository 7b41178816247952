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
class NamedAgents final : public RemoteAgents, public LinkOwner {
 public:
  NamedAgents(MirrorServices& services, MirrorChoice choice, AgentAddress name, CredentialWatch& credentials);
  ~NamedAgents() override;

  transport::Task<void> run() override;
  transport::Task<void> leave() override;
  [[nodiscard]] bool settled() const override;
  [[nodiscard]] std::string last_error() const override;
  /// HOST:PORT.
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const MirrorChoice& choice() const override { return choice_; }
  [[nodiscard]] bool follows(const std::string& agent) const override;
  [[nodiscard]] bool leaves_to_another(const std::string& agent) const override;
  [[nodiscard]] bool is_another_name() const override;
  /// Leaves out addresses that were never reached once an address of the other family is connected.
  [[nodiscard]] std::vector<const AgentLink*> links() const override;

 private:
  struct LinkEntry {
    TcpRoute* route = nullptr;  ///< Owned by the link.
    RunningLink link;
    /// Changes the addresses of its agent.
    void move_to(std::vector<transport::Address> addresses);
    bool named = true;        ///< The name still resolves to one of its addresses.
    bool superseded = false;  ///< Another link follows the same agent.
  };

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
  void add_link(const transport::Address& address);
  void remove_gone();
  [[nodiscard]] LinkEntry* kept(const AgentLink& link);
  [[nodiscard]] LinkEntry* other_with(const AgentLink& link, const std::string& instance);
  [[nodiscard]] bool claimed(const transport::Address& address) const;
  /// Whether the name has several agents, rather than several addresses of one.
  [[nodiscard]] bool is_fleet() const;

  MirrorServices& services_;
  MirrorChoice choice_;
  AgentAddress agent_;
  std::string name_;
  CredentialWatch& credentials_;
  bool looked_up_ = false;
  std::string lookup_error_;
  std::vector<transport::Address> addresses_;  ///< Current addresses of the name.
  std::vector<transport::Address> pending_;    ///< Those still to be dialled.
  transport::Event pending_changed_;
  transport::Event look_now_;
  std::size_t outcomes_ = 0;
  std::optional<transport::Deadline> others_;  ///< Runs since the first agent has listed its runtimes.
  std::vector<LinkEntry> links_;
  std::vector<Elsewhere> elsewhere_;
  transport::TaskSet tasks_;
};

}  // namespace farport::router
