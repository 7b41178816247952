// Appends what Cursor reads: bytes, and numbers in the machine's order of bytes, which is little-endian.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

#include "nettrace/cursor.hpp"

namespace farport::nettrace {

inline void append(std::vector<std::byte>& to, BytesView bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

template <std::integral Number>
void append(std::vector<std::byte>& to, Number number) {
  append(to, std::as_bytes(std::span(&number, 1)));
}

}  // namespace farport::nettrace
