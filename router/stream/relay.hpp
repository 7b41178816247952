// The relay: joins two Streams. The one function that moves data.
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

struct RelayOutcome {
  std::uint64_t to_runtime = 0;  ///< Bytes read from the tool's side and taken by the runtime's.
  std::uint64_t to_tool = 0;     ///< Bytes the other way.
  bool runtime_ended = false;    ///< Whether the runtime has ended its side, and all of it was carried.
  BoxedError broken;             ///< Why it ended early; nothing when both sides finished as they should.
};

/// Carries bytes both ways until both directions have ended, or one side is wholly gone or broken. A side
/// that finishes sending is passed on as just that (half-close); a side that is gone ends the connection once
/// what it sent has been delivered. Both streams must outlive the task and should be destroyed after it.
/// `counts` is up to date at every moment, also where the task is destroyed before its end. `waiting` counts
/// the buffers whose receiver takes nothing for now. Both must outlive the task.
transport::Task<RelayOutcome> relay(transport::Stream& tool, transport::Stream& runtime,
                                    transport::BufferPool& buffers,
                                    transport::BufferBudget::LateHolding& waiting,
                                    RelayCounts* counts = nullptr);

[[nodiscard]] inline Error tool_is_gone() {
  return Error{"go on for", "the tool", "it is gone", {}, ECANCELED};
}

/// Breaks off what went on for a tool that is gone, with the error code ECANCELED.
inline void abort_for_gone_tool(transport::Stream& stream) {
  stream.abort(tool_is_gone());
}

/// While what it returns lives: breaks `stream` off as soon as the other side of `watched` is gone, with the
/// error code ECANCELED, once what came in the same turn has been seen to. For the time before both are
/// relayed.
[[nodiscard]] inline auto abort_when_gone(transport::Stream& watched, transport::Stream& stream) {
  return transport::WhenGone(watched, [&stream] { abort_for_gone_tool(stream); });
}

}  // namespace farport::router
