// AgentRoute: a way to an agent, on which sessions with it are opened, one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "auth/openssl.hpp"
#include "auth/tls_credentials.hpp"
#include "base/proxy.hpp"
#include "base/text.hpp"
#include "router/certificates/credential_watch.hpp"
#include "router/reach/reach.hpp"
#include "transport/event.hpp"
#include "transport/happy_eyeballs.hpp"
#include "transport/socket.hpp"
#include "transport/stream.hpp"

namespace farport::router {

// An agent to mirror, as its user names it, and what its sessions need.

/// Where to dial, and the name to verify.
struct AgentAddress {
  std::string host;
  std::uint16_t port = 0;
  std::string server_name;  ///< Empty: the host.

  /// HOST:PORT.
  [[nodiscard]] std::string text() const { return authority(host, port); }
  /// What the agent's certificate must hold.
  [[nodiscard]] const std::string& verified_name() const { return server_name.empty() ? host : server_name; }
};

struct MirroredAgent {
  AgentAddress address;
  auth::TlsCredentialsPtr
      credentials;  ///< Agents with the same ones share them; null where it is reached otherwise.
  std::vector<std::string> select;             ///< Ids, pids, names, globs of what is mirrored; empty: all.
  std::string remote{};                        ///< What its user calls it: a profile, or HOST:PORT.
  std::shared_ptr<const ReachTarget> reach{};  ///< Instead of address and credentials; may be null.
  std::optional<Proxy> proxy{};                ///< On the way to the address.
  std::vector<transport::Address> accept{};    ///< Instead of being dialled, agents dial in here.
};

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

// TcpRoute: to an agent's port, over TCP and mutual TLS.

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

// ProxyRoute: to an agent's port, through an HTTP proxy.

/// Connects to an agent through the proxy, and shakes hands. Errors say what to do.
transport::Task<Result<AgentConnection>> open_through(transport::Loop& loop, Proxy proxy, AgentAddress agent,
                                                      SSL_CTX* context, transport::Share& time);

class ProxyRoute final : public AgentRoute {
 public:
  ProxyRoute(transport::Loop& loop, Proxy proxy, AgentAddress agent, CredentialWatch& credentials,
             transport::Share& time)
      : loop_(loop),
        proxy_(std::move(proxy)),
        agent_(std::move(agent)),
        credentials_(credentials),
        time_(time) {}

  transport::Task<Result<AgentConnection>> open() override;
  [[nodiscard]] std::string text() const override { return agent_.text(); }

 private:
  transport::Loop& loop_;
  Proxy proxy_;
  AgentAddress agent_;
  CredentialWatch& credentials_;
  transport::Share& time_;
};

// ReachRoute: to an agent that has no port.

class ReachRoute final : public AgentRoute {
 public:
  ReachRoute(transport::Loop& loop, Log log, std::shared_ptr<const Reach> reach)
      : loop_(loop), log_(std::move(log)), reach_(std::move(reach)) {}

  transport::Task<Result<AgentConnection>> open() override {
    auto reached = co_await reach_->open(loop_, log_);
    if (!reached) co_return tl::unexpected(reached.error());
    AgentConnection connection{std::move(reached->stream), reach_->text()};
    connection.explain = std::move(reached->explain);
    co_return connection;
  }
  [[nodiscard]] std::string text() const override { return reach_->text(); }

 private:
  transport::Loop& loop_;
  Log log_;
  std::shared_ptr<const Reach> reach_;
};

/// A look at the certificate that an agent shows, whether it can be trusted or not: for saying what is wrong.
/// When the certificate is valid that is shown at the address, to who asks for `server_name`. Nothing is
/// verified and nothing shown in return: whoever is there may have made it. None where no TLS server answers
/// in time.
transport::Task<std::optional<auth::Validity>> look_at_certificate(transport::Loop& loop,
                                                                   transport::Address address,
                                                                   std::string server_name);

}  // namespace farport::router
