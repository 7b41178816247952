// NamedAgents: the agents behind one HOST:PORT. A name is looked up again and again, since it may lead to
// others later on: a pod that is replaced, a headless service that grows. One agent is followed once, however
// many addresses it has: it says which one it is.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "router/mirror/agent_link.hpp"
#include "router/mirror/ask_agent.hpp"

namespace farport::router {

class NamedAgents final : public LinkOwner {
 public:
  NamedAgents(MirrorServices& services, MirrorChoice choice, AgentAddress name, CredentialWatch& credentials);
  NamedAgents(const NamedAgents&) = delete;
  NamedAgents& operator=(const NamedAgents&) = delete;
  ~NamedAgents();

  /// Follows the name until it is cancelled.
  transport::Task<void> run();
  /// Ends the links in good order. run() must not go on.
  transport::Task<void> leave();

  /// Whether each address has listed its runtimes or failed to; or one has, and the others had their time.
  [[nodiscard]] bool settled() const;
  /// Why none has listed its runtimes; empty where one has.
  [[nodiscard]] std::string last_error() const;
  /// HOST:PORT.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Those that a person would want to hear of: not the other family's addresses of a host that is connected.
  [[nodiscard]] std::vector<const AgentLink*> links() const;

 private:
  struct Kept {
    std::unique_ptr<AgentLink> link;
    transport::Task<void> running;
    bool named = true;        ///< The name leads to one of its addresses still.
    bool superseded = false;  ///< Another link has its agent.
  };

  bool may_follow(AgentLink& link, const std::string& instance, const transport::Address& address) override;
  void link_changed(AgentLink& link) override;

  transport::Task<void> dial_pending();
  void take(std::vector<transport::Address> addresses);
  void note_failure(const Error& why);
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
  transport::TaskSet tasks_;
};

}  // namespace farport::router
