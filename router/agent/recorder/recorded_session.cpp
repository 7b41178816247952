#include "router/agent/recorder/recorded_session.hpp"

#include <span>
#include <utility>
#include <vector>

#include "transport/fd_stream.hpp"
#include "transport/share.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

constexpr std::size_t kPieceBytes = 16 * 1024;

}  // namespace

RecordedSession::RecordedSession(transport::Loop& loop, Registry& registry, MemoryGroups& groups,
                                 const char* doing, RecentBlocks::Stacks stacks, Limit limit)
    : loop_(loop),
      registry_(registry),
      groups_(groups),
      doing_(doing),
      stacks_(stacks),
      limit_(std::move(limit)),
      blocks_(0, stacks) {}

Task<Result<void>> RecordedSession::begin(Runtime runtime, ipc::CollectTracing wanted) {
  runtime_ = std::move(runtime);
  auto session = co_await begin_own_session(registry_, groups_, runtime_, doing_, std::move(wanted));
  if (!session) co_return tl::unexpected(session.error());
  session_ = std::move(*session);
  runs_ = true;
  blocks_ = RecentBlocks(limit_(), stacks_);
  co_return Result<void>();
}

Task<Result<void>> RecordedSession::take_all() {
  std::vector<std::byte> piece(kPieceBytes);
  transport::TurnBudget budget(loop_);  // The runtime may be fast enough to keep the loop busy.
  Result<void> taken;
  while (taken) {
    const transport::Io got = co_await session_->stream->read(piece);
    if (got.status == IoStatus::end) break;
    if (got.status == IoStatus::failed) {
      taken = fail(doing_, runtime_.name, session_->stream->error().why);
      break;
    }
    blocks_.set_limit(limit_());
    taken = blocks_.take(std::span(piece).first(got.bytes), RecentBlocks::Clock::now());
    if (!taken) taken = fail(doing_, runtime_.name, taken.error().why);
    co_await budget.yield_if_used_up();
  }
  runs_ = false;
  session_.reset();
  co_return taken;
}

Task<void> RecordedSession::stop() {
  if (std::exchange(runs_, false)) co_await stop_own_session(registry_, runtime_.id, session_->id);
}

}  // namespace farport::router
