// A session with an agent, from the side that dials: HTTP/2, and what the API offers.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "router/mirror/agent_route.hpp"
#include "transport/http2/session.hpp"

namespace farport::router {

/// How long the other addresses of a name may take once one has answered.
inline constexpr transport::Milliseconds kOtherAddresses{1000};

/// Which agent it is by whatever way it was reached: its instance, which it says, and the key that it has
/// shown, which it can't borrow. Empty where the instance is. `ssl`: null without TLS.
[[nodiscard]] std::string agent_of(const std::string& instance, const SSL* ssl);

class AgentSession {
 public:
  AgentSession(AgentConnection connection, transport::Party party, transport::Http2Limits limits);
  AgentSession(const AgentSession&) = delete;
  AgentSession& operator=(const AgentSession&) = delete;

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
  /// Ends the session in good order: run() passes when the agent knows, or soon.
  void leave() { http_.leave(); }
  /// Set when the agent wants no more requests in this session.
  [[nodiscard]] transport::Event& draining() { return http_.draining(); }

  /// Which agent this is, of those that there have been at its address; empty until the list of its runtimes
  /// has said so.
  [[nodiscard]] const std::string& instance() const { return instance_; }
  void learn_instance(const transport::MessageHead& answer);
  /// See agent_of().
  [[nodiscard]] std::string agent() const;

  [[nodiscard]] const std::string& address() const { return connection_.address; }
  /// The address that was dialled; nothing where the way to the agent has none.
  [[nodiscard]] const std::optional<transport::Address>& peer() const { return connection_.peer; }
  [[nodiscard]] transport::Loop& loop() const { return loop_; }

 private:
  transport::Loop& loop_;
  AgentConnection connection_;  ///< Without its stream, which http_ has.
  std::string instance_;
  transport::Http2Session http_;
  std::optional<VerifiedPeer> verified_;
};

/// What is done in each session by who only sends requests: asks which agent this is, so that they are
/// resumed there.
[[nodiscard]] transport::Task<void> ask_instance(AgentSession& session);

/// Sends a GET in the session, and returns the answer's body. Errors: the session ends, or the agent refuses.
[[nodiscard]] transport::Task<Result<std::string>> ask_in(AgentSession& session, std::string path);

}  // namespace farport::router
