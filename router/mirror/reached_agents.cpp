#include "router/mirror/reached_agents.hpp"

#include "router/mirror/reach_route.hpp"

namespace farport::router {

ReachedAgents::ReachedAgents(MirrorServices& services, MirrorChoice choice,
                             const std::shared_ptr<const Reach>& reach)
    : name_(reach->text()),
      link_(services, *this, std::move(choice),
            std::make_unique<ReachRoute>(services.loop, services.log, reach)) {}

}  // namespace farport::router
