// What the sessions of a fake runtime stream, for it and for those who check what has come.
#pragma once

#include <string>

#include "ipc/message.hpp"

namespace farport::fake {

/// The bytes that a session streams over and over: the file's, or without a name 256 KiB that differ from
/// place to place. Throws std::runtime_error.
[[nodiscard]] ipc::Bytes stream_block(const std::string& file);

}  // namespace farport::fake
