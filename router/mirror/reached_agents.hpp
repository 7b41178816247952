// ReachedAgents: the agents behind a target that commands reach.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "router/mirror/remote_agents.hpp"
#include "router/mirror/running_link.hpp"
#include "router/reach/reach.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

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
  struct Kept {
    std::string text;  ///< The way's.
    RunningLink link;
    bool found = true;  ///< The last time.
  };

  // Ways are told apart by what they lead to: two agents of one container or host are none.
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
  std::vector<Kept> links_;
  transport::TaskSet tasks_;
};

}  // namespace farport::router
