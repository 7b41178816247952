// Writing all of it.
#pragma once

#include <cstddef>
#include <span>

namespace farport {

/// Writes all of the bytes, and waits where a descriptor takes none for now. 0, or the errno value, which
/// errno has, too.
[[nodiscard]] int write_whole(int fd, std::span<const std::byte> bytes);

}  // namespace farport
