// What a trace says of itself as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nettrace/cursor.hpp"

namespace farport::nettrace {

struct TraceHeader {
  std::uint32_t format = 0;     ///< 4, 5 or 6.
  std::int64_t sync_time = 0;   ///< When the trace began, in units of 100 ns since 1970 (UTC).
  std::int64_t sync_ticks = 0;  ///< The same moment by the clock of the timestamps.
  std::int64_t ticks_per_second = 1;
  std::uint32_t pointer_size = 8;  ///< In bytes: 4 or 8.
  std::uint64_t process_id = 0;    ///< 0 where there are several, or it is not known (format 6).
  std::uint32_t processors = 0;    ///< 0 where it is not known (format 6).
  /// What else format 6 has, as it is written there. Those that have become fields above are here, too.
  std::vector<std::pair<std::string, std::string>> attributes;

  /// A timestamp in units of 100 ns since 1970 (UTC), rounded towards the beginning of the trace. What can't
  /// be counted so becomes the least or the greatest number.
  [[nodiscard]] std::int64_t time_of(std::int64_t ticks) const;
};

/// The Trace object of formats 4 and 5 has as many bytes.
inline constexpr std::size_t kTraceObjectBytes = 48;

/// Reads the content of the Trace object ("The First Object: The Trace Object").
[[nodiscard]] Result<TraceHeader> read_trace_object(Cursor in, std::uint32_t format);
/// Reads a TraceBlock (format 6).
[[nodiscard]] Result<TraceHeader> read_trace_block(Cursor in);

}  // namespace farport::nettrace
