// SessionManager: keeps a session with an agent, and dials again when it breaks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "router/mirror/agent_session.hpp"
#include "router/wire/session_options.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

class SessionManager {
 public:
  SessionManager(transport::Loop& loop, Log log, std::unique_ptr<AgentRoute> route, ClientOptions options);
  SessionManager(const SessionManager&) = delete;
  SessionManager& operator=(const SessionManager&) = delete;
  ~SessionManager();

  /// Work in each session for as long as it is the current one.
  using OnSession = std::function<transport::Task<void>(AgentSession&)>;
  /// Called with the reason when a session has ended or could not be opened.
  using OnEnd = std::function<void(const Error&)>;
  /// Keeps a session open until it is cancelled.
  transport::Task<void> run(OnSession follow, OnEnd on_end);
  /// Ends the sessions in good order, so that the agent does not wait for the next one. run() must have been
  /// cancelled before.
  transport::Task<void> leave();

  /// Dials at once instead of waiting for the backoff: the way to the agent has changed.
  void dial_now();

  /// The session for new requests; nullptr while there is none.
  [[nodiscard]] std::shared_ptr<AgentSession> session() const { return session_; }
  /// Notifies when there is a new session, or none any more.
  [[nodiscard]] transport::Condition& session_changed() { return session_changed_; }
  /// Tells the agent, now or in the next session, that the requests with these tokens are dropped. It may
  /// know one of them.
  void forget(std::vector<std::string> tokens);

  /// Limits how often requests are sent to the agent.
  [[nodiscard]] RequestPace& pace() { return pace_; }
  /// Fails all requests with this error, now and later: there will be no session in which they could go on.
  void give_up(Error why);
  /// The error of that, or null.
  [[nodiscard]] const Error* given_up() const { return given_up_ ? &*given_up_ : nullptr; }
  /// Why the last session has ended, or could not be opened; empty if there was none yet.
  [[nodiscard]] const std::string& why_ended() const { return why_ended_; }
  /// The address of the last session; before the first one, the route's.
  [[nodiscard]] const std::string& address() const { return address_text_; }
  [[nodiscard]] transport::Loop& loop() const { return loop_; }
  [[nodiscard]] const ClientOptions& options() const { return options_; }
  /// Pays for the loop time and memory of all sessions with the agent.
  [[nodiscard]] const transport::Party& party() const { return party_; }

 private:
  struct HeldSession;
  transport::Task<Error> hold_session(const OnSession& follow);
  transport::Task<void> carry(std::shared_ptr<HeldSession> held);
  transport::Task<void> tell(std::vector<std::string> tokens);

  transport::Loop& loop_;
  Log log_;
  std::unique_ptr<AgentRoute> route_;
  std::string address_text_;
  ClientOptions options_;
  transport::Party party_;
  std::shared_ptr<AgentSession> session_;
  bool answered_ = false;  ///< In the last session.
  std::string why_ended_;
  std::optional<Error> given_up_;
  RequestPace pace_;
  transport::Condition session_changed_;
  transport::Event dial_now_;
  std::set<const HeldSession*> held_;
  transport::TaskSet sessions_;  ///< Includes sessions that are left but still have streams.
  transport::TaskSet notifying_;
};

}  // namespace farport::router
