#include "router/mirror/found_route.hpp"

#include "router/mirror/proxy_route.hpp"
#include "router/mirror/reach_route.hpp"
#include "router/mirror/tcp_route.hpp"

namespace farport::router {

std::unique_ptr<AgentRoute> found_route(transport::Loop& loop, const Log& log, const MirroredAgent& agent,
                                        const std::shared_ptr<const Reach>& reach,
                                        const std::vector<transport::Address>& addresses,
                                        CredentialWatch* credentials) {
  if (reach != nullptr) return std::make_unique<ReachRoute>(loop, log, reach);
  if (agent.proxy) return std::make_unique<ProxyRoute>(loop, *agent.proxy, agent.address, *credentials);
  return std::make_unique<TcpRoute>(loop, addresses, agent.address.verified_name(), *credentials);
}

}  // namespace farport::router
