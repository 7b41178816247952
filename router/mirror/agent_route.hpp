// AgentRoute: a way to an agent, on which sessions with it are opened, one after the other.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "router/certificates/peer_revalidator.hpp"
#include "transport/address.hpp"
#include "transport/stream.hpp"

namespace farport::router {

/// A connection on which an agent speaks HTTP/2, after all that it took to be sure of each other.
struct AgentConnection {
  std::unique_ptr<transport::Stream> stream;
  std::string address;                       ///< Where it leads, for people.
  std::optional<transport::Address> peer{};  ///< The address that was dialled, where there is one.
  SSL* ssl = nullptr;                        ///< Of the stream, where it is TLS.
  PeerRevalidator* peers = nullptr;          ///< Ends it once the agent is not trusted any more; may be null.
  /// Why the connection has ended, where more is known than its error says; may be empty.
  std::function<std::string(const Error&)> explain{};
};

class AgentRoute {
 public:
  AgentRoute() = default;
  AgentRoute(const AgentRoute&) = delete;
  AgentRoute& operator=(const AgentRoute&) = delete;
  virtual ~AgentRoute() = default;

  /// Opens a connection; waits while there is nowhere to open one to. Errors say what to do.
  virtual transport::Task<Result<AgentConnection>> open() = 0;
  /// Where it leads before a connection has said more.
  [[nodiscard]] virtual std::string text() const = 0;
};

}  // namespace farport::router
