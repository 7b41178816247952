// The relay: moves bytes between two Streams.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>

#include "transport/buffer_pool.hpp"
#include "transport/party.hpp"
#include "transport/stream.hpp"

namespace farport::router {

/// What a relay has carried so far, in bytes.
struct RelayCounts {
  std::uint64_t to_runtime = 0;
  std::uint64_t to_tool = 0;
};

/// How a relay has ended.
struct RelayOutcome {
  std::uint64_t to_runtime = 0;  ///< Bytes read from the tool's side and taken by the runtime's.
  std::uint64_t to_tool = 0;     ///< Bytes the other way.
  bool runtime_ended = false;    ///< The runtime has ended its side, and all of that was carried.
  BoxedError broken;             ///< Why it ended early; nothing if both sides finished properly.
};

/// Carries bytes both ways until both directions have ended, or one side is gone or broken. The end of one
/// side's sending is passed on as a half-close. If a side is gone, the relay ends once what it sent is
/// delivered. Both streams must outlive the task. `counts` is always up to date, even if the task is
/// destroyed before its end. `waiting` counts the buffers whose receiver takes nothing for now. Both must
/// outlive the task.
transport::Task<RelayOutcome> relay(transport::Stream& tool, transport::Stream& runtime,
                                    transport::BufferPool& buffers,
                                    transport::BufferBudget::LazyReservation& waiting,
                                    RelayCounts* counts = nullptr);

[[nodiscard]] inline Error tool_is_gone() {
  return Error{"go on for", "the tool", "it is gone", {}, Cause(ECANCELED)};
}

/// Aborts what was done for a tool that is gone, with the error code ECANCELED.
inline void abort_for_gone_tool(transport::Stream& stream) {
  stream.abort(tool_is_gone());
}

/// For as long as the result lives: aborts `stream` with ECANCELED once the other side of `watched` is gone,
/// after what came in the same turn has been handled. For the time before both are relayed.
[[nodiscard]] inline auto abort_when_gone(transport::Stream& watched, transport::Stream& stream) {
  return transport::WhenGone(watched, [&stream] { abort_for_gone_tool(stream); });
}

}  // namespace farport::router
