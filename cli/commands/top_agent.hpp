// An agent in `farport top`: its runtimes, and how each of them is.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/top_runtime.hpp"
#include "router/mirror/find_agents.hpp"

namespace farport::cli {

class TopAgent {
 public:
  /// Follows the runtimes of an agent from now on, across breaks of its session, each by a session of
  /// counters that tells every `interval`. `found`: with its answer to GET /v1/runtimes. `changed`: told of
  /// all that is new; must outlive this.
  TopAgent(transport::Loop& loop, router::FoundAgent found, transport::Milliseconds interval,
           transport::Condition& changed);
  TopAgent(const TopAgent&) = delete;
  TopAgent& operator=(const TopAgent&) = delete;

  transport::Task<void> leave();

  [[nodiscard]] std::vector<TopRuntime> runtimes() const;
  /// Why the session is broken, or the list can't be read; empty where all is well.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  transport::Task<void> list();
  void take_list(const Result<std::string>& answer);
  [[nodiscard]] Result<void> follow(const std::string& list);
  void say(std::string trouble);

  transport::Loop& loop_;
  std::unique_ptr<router::AgentClient> agent_;
  transport::Milliseconds interval_;
  transport::Condition& changed_;
  std::map<std::string, std::unique_ptr<FollowedRuntime>> followed_;  ///< By id.
  std::vector<TopRuntime> unfollowed_;
  std::string trouble_;
  transport::Task<void> listing_;
};

}  // namespace farport::cli
