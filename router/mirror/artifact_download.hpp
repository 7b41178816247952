// Getting artifacts from an agent, and checking what comes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "router/mirror/agent_session.hpp"
#include "router/mirror/session_manager.hpp"
#include "router/wire/artifact.hpp"
#include "router/wire/content_digest.hpp"
#include "transport/task.hpp"

namespace farport::router {

/// Compares what comes of an artifact with what its agent has said of it.
class ArtifactCheck {
 public:
  /// `most` is how much may come of one whose size the agent has not said.
  explicit ArtifactCheck(Artifact artifact, std::uint64_t most = std::numeric_limits<std::uint64_t>::max())
      : artifact_(std::move(artifact)), most_(most) {}

  /// Errors: it is more than the agent has said, or than may come.
  [[nodiscard]] Result<void> add(std::span<const std::byte> bytes);
  /// After the last byte. Errors: it is not what the agent has said.
  [[nodiscard]] Result<void> end();

  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  Artifact artifact_;
  std::uint64_t most_;
  ContentDigest digest_;
  std::uint64_t size_ = 0;
};

/// Takes the next bytes of a content.
using TakeContent = std::function<transport::Task<Result<void>>(std::vector<std::byte>)>;

/// Gets an artifact's content from `offset` on, which must be 0 if its size is not known. Errors: the agent
/// refuses (`cause` is the HTTP status), the connection breaks for longer than its grace period, or those of
/// `take`.
transport::Task<Result<void>> download_artifact(SessionManager& sessions, std::string id,
                                                std::uint64_t offset, TakeContent take);
/// The same in this session alone: it fails when that breaks.
transport::Task<Result<void>> download_artifact(std::shared_ptr<AgentSession> session, std::string id,
                                                std::uint64_t offset, TakeContent take);

}  // namespace farport::router
