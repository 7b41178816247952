// Bytes as text.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace farport {

/// Two lower-case digits for each byte.
[[nodiscard]] std::string hex(std::span<const std::byte> bytes);

}  // namespace farport
