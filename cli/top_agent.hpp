// All runtimes of several agents, and how each of them is.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/top_runtime.hpp"
#include "config/settings.hpp"
#include "router/certificates/credential_watch.hpp"
#include "router/mirror/ask_agent.hpp"

namespace farport::cli {

/// The runtimes of one agent: each is followed by a session of counters of its own.
class TopAgent {
 public:
  /// As it has answered. `agent`, `settings`: must outlive this.
  TopAgent(transport::Loop& loop, const router::MirroredAgent& agent, const router::AgentAnswer& answer,
           const config::TopSettings& settings);
  TopAgent(const TopAgent&) = delete;
  TopAgent& operator=(const TopAgent&) = delete;

  /// Follows them until it is cancelled, across breaks of the session.
  void start();
  transport::Task<void> leave();

  [[nodiscard]] std::vector<TopRuntime> runtimes() const;
  /// Why the session is broken; empty where it isn't.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  transport::Task<void> list(router::AgentSession& session);
  /// Empty, or what is wrong with the answer.
  [[nodiscard]] std::string take_list(const std::string& json);

  const config::TopSettings& settings_;
  Log log_;
  std::optional<router::CredentialWatch> credentials_;
  router::SessionManager sessions_;
  std::string address_;
  std::map<std::string, std::unique_ptr<FollowedRuntime>> followed_;  ///< By id.
  std::string trouble_;
  transport::Task<void> dialling_;
};

}  // namespace farport::cli
