// Reading files whose size or kind others control.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/error.hpp"

namespace farport {

/// Reads from an open file's current position, at most `most` bytes. Empty if reading fails.
[[nodiscard]] std::optional<std::string> read_limited(int fd, std::size_t most);
/// The same for the file at `path`.
[[nodiscard]] std::optional<std::string> read_limited(const std::string& path, std::size_t most);

/// Reads the whole file at `path` into `buffer` and returns its size. Never waits: fails on a FIFO or a
/// device, and on a file larger than the buffer (`cause` is EFBIG). For system errors `cause` is the errno
/// value. `what` names the file in messages: "private key".
[[nodiscard]] Result<std::size_t> read_regular_file(std::string_view what, const std::string& path,
                                                    std::span<char> buffer);

/// The same, returned as text. `limit` takes the place of the buffer's size.
[[nodiscard]] Result<std::string> read_regular_file(std::string_view what, const std::string& path,
                                                    std::size_t limit);

}  // namespace farport
