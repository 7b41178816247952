// Sending a dump: read and compressed on the thread pool, one piece while the one before it is written.
#pragma once

#include <functional>

#include "router/agent/dumps/dump_directory.hpp"
#include "transport/stream.hpp"

namespace farport::router {

/// Writes the whole dump to `to`, as zstd where `compress`, and ends that direction. `on_sent`: told how much
/// of the dump is out. Errors: the file can't be read or has become shorter, or the stream broke.
transport::Task<Result<void>> send_dump(transport::Stream& to, OpenDump dump, bool compress,
                                        std::function<void(std::uint64_t)> on_sent);

}  // namespace farport::router
