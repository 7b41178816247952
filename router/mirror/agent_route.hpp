// AgentRoute: a way to an agent, on which its sessions are opened one after the other.
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

/// The address to dial, and the name to verify.
struct AgentAddress {
  std::string host;
  std::uint16_t port = 0;
  std::string server_name;  ///< Empty: `host` is used.

  /// HOST:PORT.
  [[nodiscard]] std::string text() const { return authority(host, port); }
  /// The name that the agent's certificate must hold.
  [[nodiscard]] const std::string& verified_name() const { return server_name.empty() ? host : server_name; }
};

/// An agent to mirror, as its user names it, and what its sessions need.
struct MirroredAgent {
  AgentAddress address;
  auth::TlsCredentialsPtr credentials;         ///< Agents may share them; null if TLS is not used.
  std::vector<std::string> select;             ///< Ids, pids, names, globs of what is mirrored; empty: all.
  std::string remote{};                        ///< The user's name for it: a profile, or HOST:PORT.
  std::shared_ptr<const ReachTarget> reach{};  ///< Used instead of address and credentials; may be null.
  std::optional<Proxy> proxy{};                ///< Proxy for the address.
  std::vector<transport::Address> accept{};    ///< Where agents dial in, instead of being dialled.
};

/// A connection ready for HTTP/2, after the handshake or whatever else established who the agent is.
struct AgentConnection {
  std::unique_ptr<transport::Stream> stream;
  std::string address;                       ///< Shown to people.
  std::optional<transport::Address> peer{};  ///< The address that was dialled, if any.
  SSL* ssl = nullptr;                        ///< Of the stream, if it is TLS; otherwise null.
  PeerRevalidator* peers = nullptr;  ///< Ends the connection when trust in the agent is lost; may be null.
  /// Explains why the connection has ended, if more is known than the error says; may be empty.
  std::function<std::string(const Error&)> explain{};
};

class AgentRoute {
 public:
  AgentRoute() = default;
  AgentRoute(const AgentRoute&) = delete;
  AgentRoute& operator=(const AgentRoute&) = delete;
  virtual ~AgentRoute() = default;

  /// Opens a connection. Waits while there is no address to connect to. Errors include a hint.
  virtual transport::Task<Result<AgentConnection>> open() = 0;
  /// Describes the target before a connection is open.
  [[nodiscard]] virtual std::string text() const = 0;
};

/// Time limit for connecting to one address.
inline constexpr transport::Milliseconds kDialLimit{10'000};

/// The route to an agent's port, over TCP and mutual TLS.
class TcpRoute final : public AgentRoute {
 public:
  /// `addresses`: believed to be of one agent, the best one first. `server_name`: the name or address that
  /// the agent's certificate must hold. `time`: loop time for handshakes.
  TcpRoute(transport::Loop& loop, std::vector<transport::Address> addresses, std::string server_name,
           CredentialWatch& credentials, transport::Share& time);

  /// Connects to the first address that answers and does the handshake; tries other addresses if that fails.
  /// Fails with the first failure.
  transport::Task<Result<AgentConnection>> open() override;
  [[nodiscard]] std::string text() const override { return text_; }

  [[nodiscard]] const std::vector<transport::Address>& addresses() const { return addresses_; }
  /// Sets the addresses to dial from now on. Returns false if they are the same.
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

/// Does the TLS handshake with an agent, with the client's side of TLS, whichever side has dialled.
/// `address`: how errors call the peer. `server_name`: the name that its certificate must hold; empty: any.
/// `time`: loop time for peers that are not known yet. Errors include a hint.
transport::Task<Result<AgentConnection>> shake_hands(std::unique_ptr<transport::Stream> connection,
                                                     std::string address, std::string server_name,
                                                     SSL_CTX* context, transport::Share& time);

/// The same over a connection dialled from here.
transport::Task<Result<AgentConnection>> shake_hands(transport::Connected connection, std::string server_name,
                                                     SSL_CTX* context, transport::Share& time);

/// Connects to an agent through the proxy and does the handshake. Errors include a hint.
transport::Task<Result<AgentConnection>> open_through(transport::Loop& loop, Proxy proxy, AgentAddress agent,
                                                      SSL_CTX* context, transport::Share& time);

/// The route to an agent's port through an HTTP proxy.
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

/// The route to an agent that has no port: a command leads to it.
class ReachRoute final : public AgentRoute {
 public:
  ReachRoute(transport::Loop& loop, Log log, std::shared_ptr<const Reach> reach)
      : loop_(loop), log_(std::move(log)), reach_(std::move(reach)) {}

  transport::Task<Result<AgentConnection>> open() override {
    CO_ASSIGN_OR_RETURN(auto reached, co_await reach_->open(loop_, log_));
    AgentConnection connection{std::move(reached.stream), reach_->text()};
    connection.explain = std::move(reached.explain);
    co_return connection;
  }
  [[nodiscard]] std::string text() const override { return reach_->text(); }

 private:
  transport::Loop& loop_;
  Log log_;
  std::shared_ptr<const Reach> reach_;
};

/// Reads the validity of the certificate shown at `address` for `server_name`, to explain a failure. It
/// verifies nothing and shows no certificate, so the result may be forged. Empty if no TLS server answers in
/// time.
transport::Task<std::optional<auth::Validity>> peek_certificate_validity(transport::Loop& loop,
                                                                         transport::Address address,
                                                                         std::string server_name);

}  // namespace farport::router
