// RemoteAgents: the agents behind a name that the user gives, which may change over time.
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
  RemoteAgents() = default;
  RemoteAgents(const RemoteAgents&) = delete;
  RemoteAgents& operator=(const RemoteAgents&) = delete;
  virtual ~RemoteAgents() = default;

  /// Follows the agents until it is cancelled.
  virtual transport::Task<void> run() = 0;
  /// Ends the links in good order. run() must have been cancelled before.
  virtual transport::Task<void> leave() = 0;

  /// Whether each agent has listed its runtimes or failed to, or one has and the others had their time.
  [[nodiscard]] virtual bool settled() const = 0;
  /// Why none has listed its runtimes; empty if one has.
  [[nodiscard]] virtual std::string last_error() const = 0;
  /// The name that the user gave.
  [[nodiscard]] virtual const std::string& name() const = 0;
  /// Which runtimes of these agents are mirrored, and the user's name for the agents.
  [[nodiscard]] virtual const MirrorChoice& choice() const = 0;
  /// Whether this agent (AgentSession::agent()) is followed here.
  [[nodiscard]] virtual bool follows(const std::string& agent) const = 0;
  /// Whether this agent is one of these, but is followed under another name.
  [[nodiscard]] virtual bool leaves_to_another(const std::string& /*agent*/) const { return false; }
  /// Whether all of these are followed under other names.
  [[nodiscard]] virtual bool is_another_name() const { return false; }
  /// The links that people want to see.
  [[nodiscard]] virtual std::vector<const AgentLink*> links() const = 0;
};

/// A link to an agent, and the task that runs it.
class RunningLink {
 public:
  explicit RunningLink(std::unique_ptr<AgentLink> link) : link_(std::move(link)) {}

  /// Starts running the link. Not done by the constructor, since the link calls its owner, who must know it
  /// by then.
  void start();
  /// Ends the link in good order. The object must exist until then.
  transport::Task<void> leave();
  /// The same for a link that is moved in, and so kept until then.
  static transport::Task<void> retire(RunningLink link);

  [[nodiscard]] AgentLink* get() const { return link_.get(); }
  AgentLink* operator->() const { return link_.get(); }

 private:
  std::unique_ptr<AgentLink> link_;
  transport::Task<void> running_;
};

/// The agents behind a target that commands reach.
class ReachedAgents final : public RemoteAgents, private LinkOwner {
 public:
  ReachedAgents(MirrorServices& services, MirrorChoice choice, std::shared_ptr<const ReachTarget> target);

  transport::Task<void> run() override;
  transport::Task<void> leave() override;
  [[nodiscard]] bool settled() const override;
  [[nodiscard]] std::string last_error() const override;
  [[nodiscard]] const std::string& name() const override { return target_->text(); }
  [[nodiscard]] const MirrorChoice& choice() const override { return choice_; }
  [[nodiscard]] bool follows(const std::string& agent) const override;
  [[nodiscard]] std::vector<const AgentLink*> links() const override;

 private:
  struct LinkEntry {
    std::string text;  ///< Text of the Reach.
    RunningLink link;
    bool found = true;  ///< By the latest search.
  };

  // Routes are told apart by what they lead to, so two routes never lead to the same agent.
  bool may_follow(AgentLink& /*link*/, const AgentSession& /*session*/) override { return true; }
  void link_changed(AgentLink& /*link*/) override {}

  void take(const ReachTarget::Ways& ways);
  void add_link(const std::shared_ptr<const Reach>& way);
  void remove_gone();

  MirrorServices& services_;
  MirrorChoice choice_;
  std::shared_ptr<const ReachTarget> target_;
  bool looked_ = false;
  std::string look_error_;
  std::vector<LinkEntry> links_;
  transport::TaskSet tasks_;
};

/// The one agent behind HOST:PORT as a proxy resolves it.
class ProxiedAgent final : public RemoteAgents, private LinkOwner {
 public:
  ProxiedAgent(MirrorServices& services, MirrorChoice choice, const Proxy& proxy, const AgentAddress& agent,
               CredentialWatch& credentials)
      : name_(agent.text()),
        choice_(std::move(choice)),
        link_(services, *this, choice_,
              std::make_unique<ProxyRoute>(services.loop, proxy, agent, credentials,
                                           services.session.agents->strangers())) {}

  transport::Task<void> run() override { return link_.run(); }
  transport::Task<void> leave() override { return link_.leave(); }
  [[nodiscard]] bool settled() const override { return link_.settled(); }
  [[nodiscard]] std::string last_error() const override { return link_.last_error(); }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] const MirrorChoice& choice() const override { return choice_; }
  [[nodiscard]] bool follows(const std::string& agent) const override { return link_.agent() == agent; }
  [[nodiscard]] std::vector<const AgentLink*> links() const override { return {&link_}; }

 private:
  bool may_follow(AgentLink& /*link*/, const AgentSession& /*session*/) override { return true; }
  void link_changed(AgentLink& /*link*/) override {}

  std::string name_;
  MirrorChoice choice_;
  AgentLink link_;
};

}  // namespace farport::router
