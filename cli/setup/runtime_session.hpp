// RuntimeSession: the one runtime that a command is about, and the session with its agent.
#pragma once

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "config/settings.hpp"
#include "router/mirror/find_agents.hpp"
#include "router/reach/reach.hpp"
#include "router/wire/artifact.hpp"
#include "router/wire/runtime.hpp"
#include "transport/task_set.hpp"

namespace farport::cli {

/// The error of work that Ctrl-C ended. `task`: what it was, such as "record"; `on`: the runtime, if known.
[[nodiscard]] inline Error interrupted(std::string task, std::string on = {}) {
  return Error{std::move(task), std::move(on), "it is interrupted", {}, Cause(EINTR)};
}

class RuntimeSession {
 public:
  /// `settings` and `agent` must outlive this. `on_break`: called with the reason each time the session
  /// breaks.
  RuntimeSession(transport::Loop& loop, const router::MirroredAgent& agent,
                 const config::SessionSettings& settings, router::SessionManager::OnEnd on_break);
  RuntimeSession(const RuntimeSession&) = delete;
  RuntimeSession& operator=(const RuntimeSession&) = delete;

  /// Asks the agents behind the name for `wanted`, a pid, a name or whatever router::choose_runtime()
  /// accepts, and keeps the session with the agent that has it. From then on the session is given up as soon
  /// as it breaks because the application's container has ended, and errors say how that ended. Fails if no
  /// agent answers, or if none or several runtimes match.
  transport::Task<Result<router::Runtime>> open(std::string wanted);
  /// Asks them for what they keep under this id. Fails if no agent answers, or has it.
  transport::Task<Result<router::Artifact>> open_artifact(std::string id);
  /// After a successful open() or open_artifact().
  [[nodiscard]] router::SessionManager& sessions() { return agent_client_->sessions(); }
  /// After a successful open(): sends a request without a body, which may be sent twice, to the agent.
  transport::Task<Result<std::string>> ask(std::string method, std::string path) {
    return agent_client_->ask(std::move(method), std::move(path));
  }
  /// After a successful open(): what restarts the application if it stops responding, if known.
  transport::Task<std::optional<router::Restart>> restart();
  /// Lines to print about why the runtime may not have been found, from the agents. Empty if it was found.
  [[nodiscard]] const std::vector<std::string>& explanation() const { return explanation_; }
  /// Ends the session in good order, if there is one.
  transport::Task<void> leave();

 private:
  transport::Task<void> explain(router::FoundAgents& agents, bool lists_any);
  transport::Task<void> watch_container();
  void broke(const Error& why);
  transport::Task<void> give_up_if_ended(router::ContainerRun before);

  transport::Loop& loop_;
  const router::MirroredAgent& agent_;
  const config::SessionSettings& settings_;
  router::SessionManager::OnEnd on_break_;
  std::unique_ptr<router::AgentClient> agent_client_;
  std::vector<std::string> explanation_;
  std::optional<router::ContainerRun> run_;  ///< Of the container, when it began to be watched.
  bool broken_ = false;                      ///< The session has broken, and its container was not looked at.
  transport::TaskSet looking_;
};

}  // namespace farport::cli
