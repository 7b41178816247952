// A session with an agent, from the side that dials: mutual TLS and HTTP/2, and what the API offers.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "auth/openssl.hpp"
#include "router/registry.hpp"
#include "router/verified_peers.hpp"
#include "transport/address.hpp"
#include "transport/http2_session.hpp"
#include "transport/tls_stream.hpp"

namespace farport::router {

class AgentSession {
 public:
  /// Dials an agent and shakes hands. `server_name`: the name or address that the agent's certificate must
  /// hold. `context` must outlive the session. Errors say what to do.
  static transport::Task<Result<std::unique_ptr<AgentSession>>> dial(transport::Loop& loop,
                                                                     transport::Address address,
                                                                     std::string server_name,
                                                                     SSL_CTX* context,
                                                                     transport::Http2Limits limits);

  AgentSession(std::unique_ptr<transport::TlsStream> tls, std::string address, transport::Http2Limits limits);

  /// Carries the session until it ends, and says why it did. The agent's refusal of our certificate shows
  /// here, since TLS 1.3 tells of it only after the handshake.
  transport::Task<Error> run();

  /// Sends a request; nullptr where the session can take no more.
  std::unique_ptr<transport::Http2Stream> request(std::string_view method, std::string_view path, bool body,
                                                  const transport::HeaderFields& fields = {});
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
  [[nodiscard]] transport::Loop& loop() const { return tls_.loop(); }

 private:
  std::string address_;
  std::string instance_;
  transport::TlsStream& tls_;  ///< Owned by http_.
  transport::Http2Session http_;
};

/// The whole body of an answer, if its status is 200. Errors carry what the agent says; `code` is the
/// HRESULT for a tool (negative) where the agent gives one, else the status.
transport::Task<Result<std::string>> read_answer(transport::Http2Stream& answer);
/// The same for one whose head is there already.
transport::Task<Result<std::string>> read_body(const transport::MessageHead& head, transport::Stream& body);

/// The lines of an answer as they come: nothing once it has ended.
class AnswerLines {
 public:
  explicit AnswerLines(transport::Http2Stream& answer) : answer_(answer) {}
  transport::Task<std::optional<std::string>> next();

 private:
  transport::Http2Stream& answer_;
  std::string buffered_;
};

/// An agent as a user names it: where to dial, and the name to verify.
struct AgentAddress {
  std::string host;
  std::uint16_t port = 0;
  std::string server_name;  ///< Empty: the host.

  [[nodiscard]] std::string text() const;
};

/// Sends a GET to every address of an agent, one session each. Errors: the first address that failed, if none
/// answered.
struct AgentAnswer {
  std::string address;
  std::string body;
};
transport::Task<Result<std::vector<AgentAnswer>>> ask_agent(transport::Loop& loop, AgentAddress agent,
                                                            SSL_CTX* context, std::string path);

}  // namespace farport::router
