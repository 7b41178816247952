// The one runtime that a command is about, and the session with its agent.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.hpp"
#include "router/mirror/find_agents.hpp"
#include "router/reach/reach.hpp"
#include "router/wire/runtime.hpp"

namespace farport::cli {

class RuntimeSession {
 public:
  /// `settings`, `agent`: must outlive this. `on_break`: told why the session has broken, each time.
  RuntimeSession(transport::Loop& loop, const router::MirroredAgent& agent,
                 const config::SessionSettings& settings, router::SessionManager::OnEnd on_break);
  RuntimeSession(const RuntimeSession&) = delete;
  RuntimeSession& operator=(const RuntimeSession&) = delete;

  /// Asks the agents behind the name for `wanted`: a pid, a name, or whatever router::choose_runtime() takes,
  /// and keeps the session with the one that has it. Errors: no agent answers, or none or several fit.
  transport::Task<Result<router::Runtime>> open(std::string wanted);
  /// After open() has succeeded.
  [[nodiscard]] router::SessionManager& sessions() { return agent_client_->sessions(); }
  /// The same: sends a GET to its agent.
  transport::Task<Result<std::string>> ask(std::string path) { return agent_client_->get(std::move(path)); }
  /// The same: what restarts the application if it stands still, as far as that is known.
  transport::Task<std::optional<router::Restart>> restart();
  /// Why the runtime may not have been found, as the agents say: lines to print. Empty where it has been.
  [[nodiscard]] const std::vector<std::string>& explanation() const { return explanation_; }
  /// Ends it in good order, if it has begun.
  transport::Task<void> leave();

 private:
  transport::Task<void> explain(router::FoundAgents& agents, bool lists_any);

  transport::Loop& loop_;
  const router::MirroredAgent& agent_;
  const config::SessionSettings& settings_;
  router::SessionManager::OnEnd on_break_;
  std::unique_ptr<router::AgentClient> agent_client_;
  std::vector<std::string> explanation_;
};

}  // namespace farport::cli
