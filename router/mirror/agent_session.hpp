// A session with an agent, from the side that dials: HTTP/2, and what the API offers.
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

// Reading what an agent answers, within limits.

/// What an agent answers at most where it is asked for a list.
inline constexpr std::size_t kMaxAnswer = 16 * 1024 * 1024;

/// The whole body of an answer, if its status is 200, and it has no more than `most` bytes. Errors carry what
/// the agent says; `cause` is the HRESULT for a tool where the agent gives one, else the status.
transport::Task<Result<std::string>> read_answer(transport::Http2Stream& answer,
                                                 std::size_t most = kMaxAnswer);
/// The same for one whose head is there already.
transport::Task<Result<std::string>> read_body(const transport::MessageHead& head, transport::Stream& from,
                                               std::size_t most = kMaxAnswer);

/// The lines of an answer as they come.
class AnswerLines {
 public:
  explicit AnswerLines(transport::Http2Stream& answer) : answer_(answer) {}
  /// Nothing once the answer has ended, or broken a limit.
  transport::Task<std::optional<std::string>> next();
  /// The limit that it has broken.
  [[nodiscard]] const std::optional<Error>& broken() const { return broken_; }

 private:
  transport::Http2Stream& answer_;
  std::string buffered_;
  std::size_t searched_ = 0;  ///< How much of it has no end of a line.
  std::optional<Error> broken_;
};

// RequestPace: a mirror asks an agent no more often than the agent allows its identity, and asks again, in
// order, what was refused for that.

/// How long to wait before a request is worth repeating that was refused with this answer; nothing where it
/// was not refused for its rate. An agent's word is kept within bounds.
[[nodiscard]] std::optional<transport::Milliseconds> pause_told(const transport::MessageHead& answer);

/// Knows the agent's rate from what the agent tells. Other mirrors may share the identity, and so the rate:
/// whenever a request is refused, the pace falls by a fifth, and it rises again while none is.
class RequestPace final : transport::Timer {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = Clock::time_point (*)();

  /// `now` is handed in so that tests have a clock of their own.
  explicit RequestPace(transport::Loop& loop, Now now = &Clock::now) : Timer(loop), now_(now) {}
  RequestPace(const RequestPace&) = delete;
  RequestPace& operator=(const RequestPace&) = delete;
  ~RequestPace() = default;

  /// Takes the rate from the head of an answer, if the agent tells it there. An agent that is another one
  /// than before is taken to have seen no request yet.
  void learn(const transport::MessageHead& answer, bool another_agent);

  /// One request's place in the order, from its making on. Must not outlive the pace.
  class Turn;

 private:
  void refill(Clock::time_point now);
  [[nodiscard]] bool take(Clock::time_point now);
  void refused(transport::Milliseconds pause);
  /// Lets those go whose turn has come, and looks again when the next one's does.
  void go_on();
  void on_time() override { go_on(); }
  [[nodiscard]] transport::Milliseconds until_next(Clock::time_point now) const;

  Now now_;
  double rate_ = 0;    ///< Requests in a second; 0: not told yet, so as many as there are.
  double share_ = 1;   ///< Of the rate: what this mirror makes use of.
  double tokens_ = 0;  ///< Requests that may be sent at once.
  Clock::time_point refilled_{};
  Clock::time_point blocked_until_{};
  Clock::time_point slowed_{};  ///< When the share was made smaller last.
  std::uint64_t next_number_ = 0;
  std::map<std::uint64_t, Turn*> waiting_;
  bool timed_ = false;  ///< The timer runs.
};

class RequestPace::Turn {
 public:
  /// `came` is set when the turn has come for which this lined up; it outlives the turn.
  Turn(RequestPace& pace, transport::Event& came) : pace_(pace), number_(pace.next_number_++), came_(came) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { pace_.waiting_.erase(number_); }

  /// Whether the request may be sent now.
  [[nodiscard]] bool is_now();
  /// Waits for that with the others.
  void line_up();
  /// Tells that it has been sent: sending it again takes another turn.
  void sent() { has_come_ = false; }
  /// Tells that the agent refused it for its rate: nobody asks for as long as the agent said.
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
