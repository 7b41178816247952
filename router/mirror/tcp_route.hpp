// TcpRoute: to an agent's port, over TCP and mutual TLS.
#pragma once

#include <string>
#include <vector>

#include "router/certificates/credential_watch.hpp"
#include "router/mirror/agent_route.hpp"
#include "transport/event.hpp"
#include "transport/happy_eyeballs.hpp"

namespace farport::router {

/// How long an address may take to connect.
inline constexpr transport::Milliseconds kDialLimit{10'000};

class TcpRoute final : public AgentRoute {
 public:
  /// `addresses`: all of one agent, as far as is known, the best one first. `server_name`: the name or
  /// address that the agent's certificate must hold. `time`: in which hands are shaken.
  TcpRoute(transport::Loop& loop, std::vector<transport::Address> addresses, std::string server_name,
           CredentialWatch& credentials, transport::Share& time);

  /// Dials the first address that answers, and shakes hands; at another one where that fails. Errors are
  /// about the first.
  transport::Task<Result<AgentConnection>> open() override;
  [[nodiscard]] std::string text() const override { return text_; }

  [[nodiscard]] const std::vector<transport::Address>& addresses() const { return addresses_; }
  /// Where to dial from now on; false where that is nothing new.
  bool set_addresses(std::vector<transport::Address> addresses);

 private:
  transport::Loop& loop_;
  std::vector<transport::Address> addresses_;
  std::string text_;
  std::string server_name_;
  CredentialWatch& credentials_;
  transport::Share& time_;
  transport::Event addresses_changed_;
};

/// Shakes hands over a connection to an agent, with the client's side of TLS, whichever side has dialled.
/// `address`: what people call its other end. `server_name`: what its certificate must hold; empty: nothing
/// in particular. `time`: of the loop, for those of whom nobody knows yet who they are. Errors say what to
/// do.
transport::Task<Result<AgentConnection>> shake_hands(std::unique_ptr<transport::Stream> connection,
                                                     std::string address, std::string server_name,
                                                     SSL_CTX* context, transport::Share& time);

/// The same over a connection that we have dialled.
transport::Task<Result<AgentConnection>> shake_hands(transport::Connected connection, std::string server_name,
                                                     SSL_CTX* context, transport::Share& time);

}  // namespace farport::router
