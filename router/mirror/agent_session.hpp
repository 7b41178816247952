// A session with an agent, from the side that dials: mutual TLS and HTTP/2, and what the API offers.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "auth/openssl.hpp"
#include "router/certificates/peer_revalidator.hpp"
#include "transport/happy_eyeballs.hpp"
#include "transport/http2/session.hpp"
#include "transport/tls_stream.hpp"

namespace farport::router {

/// How long an agent's address may take to connect.
inline constexpr transport::Milliseconds kDialLimit{10'000};
/// How long the other addresses of a name may take once one has answered.
inline constexpr transport::Milliseconds kOtherAddresses{1000};

class AgentSession {
 public:
  using Dialled = Result<std::unique_ptr<AgentSession>>;
  /// Dials an agent at the first of its addresses that answers, and shakes hands; at another one where that
  /// fails. `server_name`: the name or address that the agent's certificate must hold. Errors say what to do,
  /// about the first address.
  static transport::Task<Dialled> dial(transport::Loop& loop, std::vector<transport::Address> addresses,
                                       std::string server_name, SSL_CTX* context,
                                       transport::Http2Limits limits);
  /// Shakes hands over a connection.
  static transport::Task<Dialled> shake_hands(transport::Connected connection, std::string server_name,
                                              SSL_CTX* context, transport::Http2Limits limits);

  AgentSession(std::unique_ptr<transport::TlsStream> tls, const transport::Address& address,
               transport::Http2Limits limits);

  /// Carries the session until it ends, and says why it did. The agent's refusal of our certificate shows
  /// here, since TLS 1.3 tells of it only after the handshake.
  transport::Task<Error> run();

  /// Sends a request; nullptr where the session can take no more.
  std::unique_ptr<transport::Http2Stream> request(std::string_view method, std::string_view path, bool body,
                                                  const transport::HeaderFields& fields = {});
  /// Sends a request without a body, again for as long as the agent refuses it for its rate. Passes when the
  /// answer's head has come. Errors: it never will.
  transport::Task<Result<std::unique_ptr<transport::Http2Stream>>> ask(std::string method, std::string path);
  void abort(const Error& why) { http_.abort(why); }
  /// Ends the session with an agent that isn't trusted any more.
  void distrust(const Error& why) { end_distrusted(http_, why); }
  /// Ends the session in good order: run() passes when the agent knows, or soon.
  void leave() { http_.leave(); }
  /// Set when the agent wants no more requests in this session.
  [[nodiscard]] transport::Event& draining() { return http_.draining(); }

  /// Which agent this is, of those that there have been at its address; empty until the list of its runtimes
  /// has said so.
  [[nodiscard]] const std::string& instance() const { return instance_; }
  void learn_instance(const transport::MessageHead& answer);

  [[nodiscard]] SSL* ssl() const { return tls_.ssl(); }
  [[nodiscard]] const std::string& address() const { return address_; }
  /// The address that was dialled.
  [[nodiscard]] const transport::Address& peer() const { return peer_; }
  [[nodiscard]] transport::Loop& loop() const { return tls_.loop(); }

 private:
  transport::Address peer_;
  std::string address_;
  std::string instance_;
  transport::TlsStream& tls_;  ///< Owned by http_.
  transport::Http2Session http_;
};

}  // namespace farport::router
