// RemoteAgents: the links to the agents behind a name that the user gives. Its kinds differ in how they find
// them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "router/mirror/agent_link.hpp"
#include "router/mirror/agent_route.hpp"
#include "router/reach/reach.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

class RemoteAgents {
 public:
  RemoteAgents(MirrorServices& services, MirrorChoice choice, std::string name);
  RemoteAgents(const RemoteAgents&) = delete;
  RemoteAgents& operator=(const RemoteAgents&) = delete;
  virtual ~RemoteAgents();

  /// Finds the agents and follows them until it is cancelled.
  virtual transport::Task<void> run() = 0;
  /// Ends the links in good order. run() must have been cancelled before.
  virtual transport::Task<void> leave();

  /// Whether each agent has listed its runtimes or failed to, or one has and the others had their time.
  [[nodiscard]] virtual bool settled() const;
  /// Why none has listed its runtimes; empty if one has.
  [[nodiscard]] std::string last_error() const;
  /// The name that the user gave.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Which runtimes of these agents are mirrored, and the user's name for the agents.
  [[nodiscard]] const MirrorChoice& choice() const { return choice_; }
  /// Whether this agent (AgentSession::agent()) is followed here. If another name could take over one that is
  /// given up for now, both would follow it once it is back, unless this object gives it up then.
  [[nodiscard]] virtual bool follows(const std::string& agent) const;
  /// Whether this agent is one of these, but is followed under another name.
  [[nodiscard]] virtual bool followed_elsewhere(const std::string& /*agent*/) const { return false; }
  /// Whether all of these are followed under other names.
  [[nodiscard]] virtual bool is_alias() const { return false; }
  /// The links that people want to see.
  [[nodiscard]] virtual std::vector<const AgentLink*> links() const;

 protected:
  struct LinkEntry {
    std::string key;              ///< By which add_link()'s caller knows it.
    AgentRoute* route = nullptr;  ///< Owned by the link.
    std::unique_ptr<AgentLink> link;
    transport::Task<void> running;
    bool found = true;        ///< By the latest search.
    bool superseded = false;  ///< Another link follows the same agent.
  };

  /// Starts a link to the agent at the end of `route`.
  void add_link(std::string key, std::unique_ptr<AgentRoute> route);
  /// Ends the links that are superseded, and those that were not found again and are not connected. Logs why
  /// the latter are gone. Returns whether there were any.
  bool remove_gone(std::string_view why);
  /// See LinkEvents.
  [[nodiscard]] virtual bool may_follow(AgentLink& /*link*/, const AgentSession& /*session*/) { return true; }
  virtual void link_changed(AgentLink& /*link*/) {}
  /// Why no agent was found; empty if one was.
  [[nodiscard]] virtual std::string search_error() const { return {}; }

  MirrorServices& services_;
  std::vector<LinkEntry> links_;

 private:
  static transport::Task<void> end(LinkEntry& entry);
  static transport::Task<void> retire(LinkEntry entry);

  MirrorChoice choice_;
  std::string name_;
  transport::TaskSet ending_;  ///< Links that are gone.
};

/// The agents behind a target that commands reach.
class ReachedAgents final : public RemoteAgents {
 public:
  ReachedAgents(MirrorServices& services, MirrorChoice choice, std::shared_ptr<const ReachTarget> target)
      : RemoteAgents(services, std::move(choice), target->text()), target_(std::move(target)) {}

  transport::Task<void> run() override;
  [[nodiscard]] bool settled() const override { return looked_ && RemoteAgents::settled(); }

 private:
  [[nodiscard]] std::string search_error() const override;
  /// Returns whether there are more links now.
  bool take(const ReachTarget::Ways& ways);

  std::shared_ptr<const ReachTarget> target_;
  bool looked_ = false;
  std::string look_error_;
};

/// The one agent behind HOST:PORT as a proxy resolves it.
class ProxiedAgent final : public RemoteAgents {
 public:
  ProxiedAgent(MirrorServices& services, MirrorChoice choice, const Proxy& proxy, const AgentAddress& agent,
               CredentialWatch& credentials);

  transport::Task<void> run() override;
  [[nodiscard]] bool settled() const override { return !links_.empty() && RemoteAgents::settled(); }

 private:
  std::unique_ptr<AgentRoute> route_;  ///< Until it runs.
};

}  // namespace farport::router
