#include "router/reach/reach.hpp"

namespace farport::router {

transport::Task<std::optional<Restart>> Reach::restart(transport::Loop& /*loop*/) const {
  co_return std::nullopt;
}

transport::Task<std::optional<ContainerRun>> Reach::container_run(transport::Loop& /*loop*/) const {
  co_return std::nullopt;
}

std::string end_of_container(std::int64_t exit_code, bool out_of_memory) {
  return "exit code " + std::to_string(exit_code) + (out_of_memory ? ", out of memory" : "");
}

transport::Task<Result<ReachTarget::Ways>> Reach::find(transport::Loop& /*loop*/) const {
  co_return Ways(1, shared_from_this());
}

tl::unexpected<Error> cannot_reach(std::string text, Error why) {
  why.what = "reach";
  why.on = std::move(text);
  return tl::unexpected(std::move(why));
}

}  // namespace farport::router
