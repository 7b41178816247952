// ReachRoute: to an agent that has no port.
#pragma once

#include <memory>
#include <string>

#include "router/mirror/agent_route.hpp"
#include "router/reach/reach.hpp"

namespace farport::router {

class ReachRoute final : public AgentRoute {
 public:
  ReachRoute(transport::Loop& loop, Log log, std::shared_ptr<const Reach> reach)
      : loop_(loop), log_(std::move(log)), reach_(std::move(reach)) {}

  transport::Task<Result<AgentConnection>> open() override {
    auto reached = co_await reach_->open(loop_, log_);
    if (!reached) co_return tl::unexpected(reached.error());
    AgentConnection connection{std::move(reached->stream), reach_->text()};
    connection.explain = std::move(reached->explain);
    co_return connection;
  }
  [[nodiscard]] std::string text() const override { return reach_->text(); }

 private:
  transport::Loop& loop_;
  Log log_;
  std::shared_ptr<const Reach> reach_;
};

}  // namespace farport::router
