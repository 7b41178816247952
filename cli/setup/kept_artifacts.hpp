// KeptArtifacts: what the agents behind some names keep.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "router/mirror/agent_route.hpp"
#include "router/mirror/find_agents.hpp"
#include "router/wire/artifact.hpp"
#include "transport/task.hpp"

namespace farport::cli {

/// An artifact, and the agent that has it.
struct KeptArtifact {
  router::Artifact artifact;
  router::AgentClient* agent = nullptr;
};

class KeptArtifacts {
 public:
  /// Asks all agents behind these names. Await leave() before destroying it.
  static transport::Task<KeptArtifacts> ask(transport::Loop& loop, std::vector<router::MirroredAgent> agents,
                                            router::ClientOptions options);

  /// The oldest first. Each is there once, though several agents may share a directory.
  [[nodiscard]] const std::vector<KeptArtifact>& all() const { return all_; }
  /// Null if none has this id.
  [[nodiscard]] const KeptArtifact* find(const std::string& id) const;
  /// Why some agents were not asked.
  [[nodiscard]] const std::vector<Error>& failures() const { return failures_; }
  /// Ends the sessions in good order.
  transport::Task<void> leave(transport::Loop& loop);

 private:
  void add(const router::FoundAgent& found, const std::vector<std::string>& select);

  router::FoundAgents agents_;
  std::vector<KeptArtifact> all_;
  std::vector<Error> failures_;
};

}  // namespace farport::cli
