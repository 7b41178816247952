// Reading files that others have made: no more of them than is wanted, and without waiting for them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/error.hpp"

namespace farport {

/// What an open file holds from where it is, but no more than `most` bytes of it. None where it can't be
/// read.
[[nodiscard]] std::optional<std::string> read_limited(int fd, std::size_t most);
/// The same of the file at `path`.
[[nodiscard]] std::optional<std::string> read_limited(const std::string& path, std::size_t most);

// Reading a small regular file: one that can neither block the reader nor fill its memory.

/// Reads the whole file at `path` into `buffer` and returns its size. Never waits: a FIFO or a device in the
/// file's place is an error, as is a file that is larger than the buffer (`cause` is EFBIG). Errors of the
/// system have its errno as `cause`. `what` names the thing in messages: "private key".
[[nodiscard]] Result<std::size_t> read_regular_file(std::string_view what, const std::string& path,
                                                    std::span<char> buffer);

/// The same as text. Errors: see above, for a file of more than `limit` bytes.
[[nodiscard]] Result<std::string> read_regular_file(std::string_view what, const std::string& path,
                                                    std::size_t limit);

}  // namespace farport
