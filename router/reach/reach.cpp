#include "router/reach/reach.hpp"

namespace farport::router {
namespace {

class SingleWay final : public ReachTarget {
 public:
  explicit SingleWay(std::shared_ptr<const Reach> way) : ReachTarget(way->text()), way_(std::move(way)) {}

  [[nodiscard]] transport::Task<Result<Ways>> find(transport::Loop& /*loop*/) const override {
    co_return Ways(1, way_);
  }
  [[nodiscard]] bool changes() const override { return false; }

 private:
  std::shared_ptr<const Reach> way_;
};

}  // namespace

transport::Task<std::optional<Restart>> Reach::restart(transport::Loop& /*loop*/) const {
  co_return std::nullopt;
}

tl::unexpected<Error> cannot_reach(std::string text, Error why) {
  why.what = "reach";
  why.on = std::move(text);
  return tl::unexpected(std::move(why));
}

std::shared_ptr<const ReachTarget> single_way(std::shared_ptr<const Reach> way) {
  return std::make_shared<SingleWay>(std::move(way));
}

}  // namespace farport::router
