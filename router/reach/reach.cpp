#include "router/reach/reach.hpp"

namespace farport::router {

transport::Task<std::optional<Restart>> Reach::restart(transport::Loop& /*loop*/) const {
  co_return std::nullopt;
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
