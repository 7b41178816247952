// RecordedSession: a session of a runtime whose last blocks are kept.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "ipc/event_pipe.hpp"
#include "router/agent/recorder/recent_blocks.hpp"
#include "router/agent/runtimes/own_session.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "router/wire/runtime.hpp"
#include "transport/task.hpp"

namespace farport::router {

/// One session at a time, which may be followed by others.
class RecordedSession {
 public:
  /// The memory that the blocks may take now, in bytes.
  using Limit = std::function<std::size_t()>;

  /// `doing` begins errors: "keep the last minutes of".
  RecordedSession(transport::Loop& loop, Registry& registry, MemoryGroups& groups, const char* doing,
                  RecentBlocks::Stacks stacks, Limit limit);

  /// Begins a session. Drops what was kept of the one before. Errors: those of begin_own_session().
  transport::Task<Result<void>> begin(Runtime runtime, ipc::CollectTracing wanted);
  /// Keeps what the session reports, until it ends. Errors: it has failed, or reports what can't be kept.
  transport::Task<Result<void>> take_all();
  /// Has the runtime stop the session. take_all() must go on meanwhile, since the session must end before its
  /// connection does.
  transport::Task<void> stop();

  [[nodiscard]] const RecentBlocks& blocks() const { return blocks_; }
  /// Drops the oldest of what it may not have any more.
  void trim() { blocks_.set_limit(limit_()); }

 private:
  transport::Loop& loop_;
  Registry& registry_;
  MemoryGroups& groups_;
  const char* doing_;
  RecentBlocks::Stacks stacks_;
  Limit limit_;
  Runtime runtime_;
  std::optional<OwnSession> session_;
  bool runs_ = false;
  RecentBlocks blocks_;
};

}  // namespace farport::router
