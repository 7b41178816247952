// A session with the agent of the one runtime that a command is about.
#pragma once

#include <optional>
#include <string>

#include "cli/find_runtime.hpp"
#include "config/settings.hpp"
#include "router/certificates/credential_watch.hpp"
#include "router/mirror/session_manager.hpp"

namespace farport::cli {

class RuntimeSession {
 public:
  /// `settings`, `agent`: must outlive this. `on_break`: told why the session has broken, each time.
  RuntimeSession(transport::Loop& loop, const router::MirroredAgent& agent,
                 const config::SessionSettings& settings, router::SessionManager::OnEnd on_break);
  RuntimeSession(const RuntimeSession&) = delete;
  RuntimeSession& operator=(const RuntimeSession&) = delete;

  /// Finds the runtime (see find_runtime()), and keeps a session with its agent from then on.
  transport::Task<Result<router::Runtime>> open(std::string wanted);
  /// After open() has succeeded.
  [[nodiscard]] router::SessionManager& sessions() { return *sessions_; }
  /// What there is instead, where the runtime has not been found.
  [[nodiscard]] Missing missing() const { return missing_; }
  /// Ends it in good order, if it has begun.
  transport::Task<void> leave();

 private:
  transport::Loop& loop_;
  Log log_;
  const router::MirroredAgent& agent_;
  const config::SessionSettings& settings_;
  router::SessionManager::OnEnd on_break_;
  Missing missing_ = Missing::everything;
  std::optional<router::CredentialWatch> credentials_;
  std::optional<router::SessionManager> sessions_;
  transport::Task<void> dialling_;
};

}  // namespace farport::cli
