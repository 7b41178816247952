// Archives of one file (POSIX ustar), as container engines take and give them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace farport::router {

/// An archive of a program at this path, which anybody may run. `path`: shorter than 100 bytes, relative.
[[nodiscard]] std::vector<std::byte> tar_of_program(std::string_view path,
                                                    std::span<const std::byte> content);

/// The first plain file's content; nothing where there is none, or not all of it.
[[nodiscard]] std::optional<std::string> first_file(std::string_view tar);

}  // namespace farport::router
