// RunningLink: a link to an agent, and the task that keeps it.
#pragma once

#include <memory>

#include "router/mirror/agent_link.hpp"

namespace farport::router {

class RunningLink {
 public:
  explicit RunningLink(std::unique_ptr<AgentLink> link) : link_(std::move(link)) {}

  /// Begins to keep it. Apart from making it: it may call its owner, who is to know it by then.
  void start();
  /// Ends it in good order. Both must stay until then.
  transport::Task<void> leave();
  /// The same, and keeps them meanwhile.
  static transport::Task<void> retire(RunningLink link);

  [[nodiscard]] AgentLink* get() const { return link_.get(); }
  AgentLink* operator->() const { return link_.get(); }

 private:
  std::unique_ptr<AgentLink> link_;
  transport::Task<void> running_;
};

}  // namespace farport::router
