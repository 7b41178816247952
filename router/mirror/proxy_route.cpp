#include "router/mirror/proxy_route.hpp"

#include "router/mirror/tcp_route.hpp"
#include "transport/happy_eyeballs.hpp"

namespace farport::router {

using transport::Task;

Task<Result<AgentConnection>> open_through(transport::Loop& loop, Proxy proxy, AgentAddress agent,
                                           SSL_CTX* context, transport::Share& time) {
  SSL_CTX_up_ref(context);
  const auth::SslCtxPtr kept(context);
  auto connected =
      co_await transport::connect_through(loop, std::move(proxy), agent.host, agent.port, kDialLimit);
  if (!connected) co_return tl::unexpected(connected.error());
  auto agreed =
      co_await shake_hands(std::move(*connected), agent.text(), agent.verified_name(), context, time);
  co_return agreed;
}

Task<Result<AgentConnection>> ProxyRoute::open() {
  auto connection = co_await open_through(loop_, proxy_, agent_, credentials_.context(), time_);
  if (connection) connection->peers = &credentials_.peers();
  co_return connection;
}

}  // namespace farport::router
