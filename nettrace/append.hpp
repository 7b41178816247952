// Appends what Cursor reads: bytes, and numbers in the machine's order of bytes, which is little-endian.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "nettrace/cursor.hpp"

namespace farport::nettrace {

inline void append(std::vector<std::byte>& to, BytesView bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

template <std::integral Number>
void append(std::vector<std::byte>& to, Number number) {
  append(to, std::as_bytes(std::span(&number, 1)));
}

/// Appends a text of UTF-8, and a zero behind it.
inline void append_utf16(std::vector<std::byte>& to, std::string_view text) {
  const std::u16string letters = to_utf16(text);
  append(to, std::as_bytes(std::span(letters)));
  append(to, std::uint16_t{0});
}

}  // namespace farport::nettrace
