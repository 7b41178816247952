// Keeps a session with an agent: dials, and dials again when it breaks.
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

  /// What is done in each session for as long as it is the one to use.
  using OnSession = std::function<transport::Task<void>(AgentSession&)>;
  /// Told why a session ended or could not be had.
  using OnEnd = std::function<void(const Error&)>;
  /// Dials until it is cancelled.
  transport::Task<void> run(OnSession follow, OnEnd on_end);
  /// Ends the sessions in good order, so that the agent does not wait for another; run() must not go on.
  transport::Task<void> leave();

  /// Dials at once, if it waits to dial again: the way to the agent has changed.
  void dial_now();

  /// The session to send requests in; nullptr while there is none.
  [[nodiscard]] std::shared_ptr<AgentSession> session() const { return session_; }
  /// Passes when there is another session, or none any more.
  [[nodiscard]] transport::Condition& session_changed() { return session_changed_; }
  /// Tells the agent, now or in the next session, that connections with these tokens are over: one of them
  /// may be known to it.
  void forget(std::vector<std::string> tokens);

  /// How often the agent may be asked.
  [[nodiscard]] RequestPace& pace() { return pace_; }
  /// Of the last session; before there is one, where the route leads.
  [[nodiscard]] const std::string& address() const { return address_text_; }
  [[nodiscard]] transport::Loop& loop() const { return loop_; }
  [[nodiscard]] const ClientOptions& options() const { return options_; }
  /// For whom all sessions with the agent read, and keep what they keep.
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
  RequestPace pace_;
  transport::Condition session_changed_;
  transport::Event dial_now_;
  std::set<const HeldSession*> held_;
  transport::TaskSet sessions_;  ///< Carries them, those too that are left and have streams still.
  transport::TaskSet notifying_;
};

}  // namespace farport::router
