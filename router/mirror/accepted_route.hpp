// AcceptedRoute: to an agent that dials us. Its connections come when the agent likes.
#pragma once

#include <optional>
#include <string>

#include "router/mirror/agent_route.hpp"
#include "transport/event.hpp"

namespace farport::router {

class AcceptedRoute final : public AgentRoute {
 public:
  AcceptedRoute(transport::Loop& loop, AgentConnection first)
      : text_(first.address), next_(std::move(first)), given_(loop) {}

  transport::Task<Result<AgentConnection>> open() override {
    while (!next_) co_await given_.wait();
    AgentConnection taken = std::move(*next_);
    next_.reset();
    co_return taken;
  }
  [[nodiscard]] std::string text() const override { return text_; }

  /// For the next open(). One that is given before this one has been taken is closed: the agent has left it.
  void give(AgentConnection connection) {
    next_ = std::move(connection);
    given_.set();
  }
  /// Whether there is one for it.
  [[nodiscard]] bool has_next() const { return next_.has_value(); }

 private:
  std::string text_;
  std::optional<AgentConnection> next_;
  transport::Event given_;
};

}  // namespace farport::router
