// A connection that an agent has dialled, until it is one like any other.
#pragma once

#include <memory>
#include <string>

#include "router/certificates/credential_watch.hpp"
#include "router/mirror/agent_route.hpp"
#include "transport/fd_stream.hpp"

namespace farport::router {

struct AcceptedConnection {
  std::string agent;  ///< See agent_of().
  AgentConnection connection;
};

/// Shakes hands, and reads which agent it is (dialled_greeting.hpp). `server_name`: what its certificate must
/// hold; empty: nothing in particular. Errors: it is none; `cause` is ECONNRESET where the peer has just
/// gone. `time`: see shake_hands().
transport::Task<Result<AcceptedConnection>> greet(std::unique_ptr<transport::FdStream> connection,
                                                  std::string server_name, CredentialWatch& credentials,
                                                  transport::Share& time);

}  // namespace farport::router
