#include "router/mirror/running_link.hpp"

namespace farport::router {

using transport::Task;

void RunningLink::start() {
  running_ = link_->run();
  running_.start();
}

Task<void> RunningLink::leave() {
  running_.reset();
  co_await link_->leave();
}

Task<void> RunningLink::retire(RunningLink link) {
  co_await link.leave();
}

}  // namespace farport::router
