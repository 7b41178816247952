#include "router/mirror/accepted_connection.hpp"

#include "router/mirror/agent_session.hpp"
#include "router/mirror/tcp_route.hpp"
#include "router/wire/dialled_greeting.hpp"
#include "transport/stream.hpp"

namespace farport::router {

transport::Task<Result<AcceptedConnection>> greet(std::unique_ptr<transport::FdStream> connection,
                                                  std::string server_name, CredentialWatch& credentials,
                                                  transport::Share& time) {
  const std::string address = connection->name();
  auto agreed = co_await shake_hands(std::move(connection), address, std::move(server_name),
                                     credentials.context(), time);
  if (!agreed) co_return tl::unexpected(agreed.error());
  const auto line = co_await transport::read_line(*agreed->stream, kDialledGreetingSize);
  const auto instance = line ? instance_in_greeting(*line) : std::nullopt;
  if (!instance) {
    co_return fail("take", address, "it does not say which agent it is", "is it farport serve --dial?");
  }
  AcceptedConnection accepted{agent_of(*instance, agreed->ssl), std::move(*agreed)};
  accepted.connection.peers = &credentials.peers();
  co_return accepted;
}

}  // namespace farport::router
