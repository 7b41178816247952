// Reading files of which others decide how long they are.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace farport {

/// What an open file holds from where it is, but no more than `most` bytes of it. None where it can't be
/// read.
[[nodiscard]] std::optional<std::string> read_limited(int fd, std::size_t most);
/// The same of the file at `path`.
[[nodiscard]] std::optional<std::string> read_limited(const std::string& path, std::size_t most);

}  // namespace farport
