// AgentSession: the client's side of a session with an agent, and reading its answers within limits.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/mirror/agent_route.hpp"
#include "transport/event.hpp"
#include "transport/http2/session.hpp"
#include "transport/http2/stream.hpp"
#include "transport/timer.hpp"

namespace farport::router {

/// Limit for an answer that lists things.
inline constexpr std::size_t kMaxAnswer = 16 * 1024 * 1024;

/// Reads the whole body of an answer. Fails if the status is not 200, with the agent's text and as `cause`
/// the HRESULT for a tool or else the status, or if the body exceeds `most` bytes.
transport::Task<Result<std::string>> read_answer(transport::Http2Stream& answer,
                                                 std::size_t most = kMaxAnswer);
/// The same for an answer whose head is known already.
transport::Task<Result<std::string>> read_body(const transport::MessageHead& head, transport::Stream& from,
                                               std::size_t most = kMaxAnswer);

/// Reads an answer line by line.
class AnswerLines {
 public:
  explicit AnswerLines(transport::Http2Stream& answer) : answer_(answer) {}
  /// The next line; empty once the answer has ended or exceeded a limit.
  transport::Task<std::optional<std::string>> next();
  /// The limit that was exceeded, if any.
  [[nodiscard]] const std::optional<Error>& broken() const { return broken_; }

 private:
  transport::IoStatus read_more();

  transport::Http2Stream& answer_;
  std::string buffered_;
  std::size_t searched_ = 0;  ///< How much of it is known to hold no line end.
  std::optional<Error> broken_;
};

/// How long to wait before repeating a request that was refused with this answer, clamped to sane bounds.
/// Empty if it was not refused for its rate.
[[nodiscard]] std::optional<transport::Milliseconds> pause_told(const transport::MessageHead& answer);

/// Limits how often a mirror sends requests to an agent, and repeats refused ones in order. The agent tells
/// its rate limit. Other mirrors may share the identity, and so the limit: each refusal slows the pace by a
/// fifth, and it recovers while there is none.
class RequestPace final : transport::Timer {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = Clock::time_point (*)();

  /// `now` is injected for tests.
  explicit RequestPace(transport::Loop& loop, Now now = &Clock::now) : Timer(loop), now_(now) {}
  RequestPace(const RequestPace&) = delete;
  RequestPace& operator=(const RequestPace&) = delete;
  ~RequestPace() = default;

  /// Takes the rate from an answer's head, if it is there. `another_agent`: the agent is a different one than
  /// before, and has seen no request yet.
  void learn(const transport::MessageHead& answer, bool another_agent);

  /// One request's place in the queue, from its construction on. Must not outlive the pace.
  class Turn;

 private:
  void refill(Clock::time_point now);
  [[nodiscard]] bool take(Clock::time_point now);
  void refused(transport::Milliseconds pause);
  /// Releases the requests whose turn has come, and starts the timer for the next one.
  void go_on();
  void on_time() override { go_on(); }
  [[nodiscard]] transport::Milliseconds until_next(Clock::time_point now) const;

  Now now_;
  double rate_ = 0;    ///< Requests per second; 0: not known yet, so unlimited.
  double share_ = 1;   ///< Part of the rate that this mirror uses.
  double tokens_ = 0;  ///< Requests that may be sent at once.
  Clock::time_point refilled_{};
  Clock::time_point blocked_until_{};
  Clock::time_point slowed_{};  ///< When the share was last reduced.
  std::uint64_t next_number_ = 0;
  std::map<std::uint64_t, Turn*> waiting_;
  bool timed_ = false;  ///< The timer runs.
};

class RequestPace::Turn {
 public:
  /// `came` is set when the turn comes after line_up(); it must outlive the turn.
  Turn(RequestPace& pace, transport::Event& came) : pace_(pace), number_(pace.next_number_++), came_(came) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { pace_.waiting_.erase(number_); }

  /// Whether the request may be sent now.
  [[nodiscard]] bool is_now();
  /// Queues for its turn.
  void line_up();
  /// Records that the request was sent; sending it again takes another turn.
  void sent() { has_come_ = false; }
  /// Records a refusal for the rate: no request is sent until `pause` is over.
  void refused(transport::Milliseconds pause) { pace_.refused(pause); }

 private:
  friend class RequestPace;
  RequestPace& pace_;
  std::uint64_t number_;
  bool has_come_ = false;
  transport::Event& came_;
};

/// How long the other addresses of a name may take once one has answered.
inline constexpr transport::Milliseconds kOtherAddresses{1000};

/// Identifies an agent however it was reached: by the instance id that it reports and the public key of its
/// certificate, which others can't present. Empty if `instance` is. `ssl`: null without TLS.
[[nodiscard]] std::string agent_of(const std::string& instance, const SSL* ssl);

class AgentSession {
 public:
  AgentSession(AgentConnection connection, transport::Party party, transport::Http2Limits limits);
  AgentSession(const AgentSession&) = delete;
  AgentSession& operator=(const AgentSession&) = delete;

  /// Runs the session until it ends, and returns why. The agent's refusal of our certificate shows up here,
  /// since TLS 1.3 reports it only after the handshake.
  transport::Task<Error> run();

  /// Sends a request; nullptr if the session takes no more.
  std::unique_ptr<transport::Http2Stream> request(std::string_view method, std::string_view path, bool body,
                                                  const transport::HeaderFields& fields = {});
  /// Sends a request without a body, and repeats it while the agent refuses it for its rate. Returns once the
  /// answer's head has come; fails if it never will.
  transport::Task<Result<std::unique_ptr<transport::Http2Stream>>> ask(std::string method, std::string path);
  void abort(const Error& why) { http_.abort(why); }
  /// Ends the session in good order. run() returns once the agent knows, or after a short time.
  void leave() { http_.leave(); }
  /// Set when the agent wants no more requests in this session.
  [[nodiscard]] transport::Event& draining() { return http_.draining(); }

  /// The agent's instance id, which tells agents apart that had the same address over time. Empty until the
  /// list of runtimes has told it.
  [[nodiscard]] const std::string& instance() const { return instance_; }
  void learn_instance(const transport::MessageHead& answer);
  /// See agent_of().
  [[nodiscard]] std::string agent() const;

  [[nodiscard]] const std::string& address() const { return connection_.address; }
  /// The address that was dialled; empty if the route has none.
  [[nodiscard]] const std::optional<transport::Address>& peer() const { return connection_.peer; }
  [[nodiscard]] transport::Loop& loop() const { return loop_; }

 private:
  transport::Loop& loop_;
  AgentConnection connection_;  ///< Its stream is moved to http_.
  std::string instance_;
  transport::Http2Session http_;
  std::optional<VerifiedPeer> verified_;
};

/// Work in each session of a caller that only sends requests: learns the agent's instance, so that requests
/// are resumed at the same agent.
[[nodiscard]] transport::Task<void> ask_instance(AgentSession& session);

/// Sends a request without a body in the session and returns the answer's body. Fails if the session ends or
/// the agent refuses.
[[nodiscard]] transport::Task<Result<std::string>> ask_in(AgentSession& session, std::string method,
                                                          std::string path);

}  // namespace farport::router
