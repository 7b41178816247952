// NamedAgents: the agents behind one HOST:PORT. A name is looked up again and again, since it may lead to
// others later on: a pod that is replaced, a headless service that grows. One agent is followed once, however
// many addresses it has: it says which one it is.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "router/mirror/agent_route.hpp"
#include "router/mirror/remote_agents.hpp"

namespace farport::router {

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
  /// Not the other family's addresses of a host that is connected.
  [[nodiscard]] std::vector<const AgentLink*> links() const override;

 private:
  struct Kept {
    TcpRoute* route = nullptr;  ///< The link's own.
    RunningLink link;
    /// Where its agent is from now on.
    void move_to(std::vector<transport::Address> addresses);
    bool named = true;        ///< The name leads to one of its addresses still.
    bool superseded = false;  ///< Another link has its agent.
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
  [[nodiscard]] bool leave_to_another(Kept& own, const transport::Address& address);
  void add_link(const transport::Address& address);
  void remove_gone();
  [[nodiscard]] Kept* kept(const AgentLink& link);
  [[nodiscard]] Kept* other_with(const AgentLink& link, const std::string& instance);
  [[nodiscard]] bool claimed(const transport::Address& address) const;
  /// Whether there are several agents behind the name, and so addresses are not just ways to one.
  [[nodiscard]] bool is_fleet() const;

  MirrorServices& services_;
  MirrorChoice choice_;
  AgentAddress agent_;
  std::string name_;
  CredentialWatch& credentials_;
  bool looked_up_ = false;
  std::string lookup_error_;
  std::vector<transport::Address> addresses_;  ///< That the name has now.
  std::vector<transport::Address> pending_;    ///< Of these, those that are to be dialled.
  transport::Event pending_changed_;
  transport::Event look_now_;
  std::size_t outcomes_ = 0;
  std::optional<transport::Deadline> others_;  ///< Since the first agent has listed its runtimes.
  std::vector<Kept> links_;
  std::vector<Elsewhere> elsewhere_;
  transport::TaskSet tasks_;
};

}  // namespace farport::router
