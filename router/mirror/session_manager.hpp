// Keeps a session with an agent: dials, and dials again when it breaks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "router/certificates/credential_watch.hpp"
#include "router/mirror/agent_session.hpp"
#include "router/mirror/request_pace.hpp"
#include "router/wire/session_options.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

class SessionManager {
 public:
  struct Target {
    std::vector<transport::Address> addresses;  ///< All of one agent, as far as is known, the best one first.
    std::string server_name;  ///< The name or address that the agent's certificate must hold.
  };

  SessionManager(transport::Loop& loop, Log log, Target target, CredentialWatch& credentials,
                 SessionOptions options);
  SessionManager(const SessionManager&) = delete;
  SessionManager& operator=(const SessionManager&) = delete;
  ~SessionManager();

  /// What is done in each session for as long as it is the one to use.
  using OnSession = std::function<transport::Task<void>(AgentSession&)>;
  /// Told why a session ended or could not be had.
  using OnEnd = std::function<void(const Error&)>;
  /// Dials until it is cancelled. While there is no address it waits for one.
  transport::Task<void> run(OnSession follow, OnEnd on_end);
  /// Ends the sessions in good order, so that the agent does not wait for another; run() must not go on.
  transport::Task<void> leave();

  [[nodiscard]] const std::vector<transport::Address>& addresses() const { return target_.addresses; }
  /// Where to dial from now on: at once, if it waits to dial again.
  void set_addresses(std::vector<transport::Address> addresses);

  /// The session to send requests in; nullptr while there is none.
  [[nodiscard]] std::shared_ptr<AgentSession> session() const { return session_; }
  /// Passes when there is another session, or none any more.
  [[nodiscard]] transport::Condition& session_changed() { return session_changed_; }
  /// Tells the agent, now or in the next session, that connections with these tokens are over: one of them
  /// may be known to it.
  void forget(std::vector<std::string> tokens);

  /// How often the agent may be asked.
  [[nodiscard]] RequestPace& pace() { return pace_; }
  /// Of the last session; before there is one, the first that is dialled.
  [[nodiscard]] const std::string& address() const { return address_text_; }
  [[nodiscard]] transport::Loop& loop() const { return loop_; }
  [[nodiscard]] const SessionOptions& options() const { return options_; }

 private:
  struct HeldSession;
  transport::Task<Error> hold_session(const OnSession& follow);
  transport::Task<void> rest(transport::Milliseconds pause);
  transport::Task<void> carry(std::shared_ptr<HeldSession> held);
  transport::Task<void> tell(std::vector<std::string> tokens);

  transport::Loop& loop_;
  Log log_;
  Target target_;
  std::string address_text_;
  CredentialWatch& credentials_;
  SessionOptions options_;
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
