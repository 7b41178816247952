#include "base/hex.hpp"

#include <string_view>

namespace farport {

std::string hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(2 * bytes.size(), '0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    text[2 * i] = kDigits[std::to_integer<unsigned>(bytes[i] >> 4)];
    text[2 * i + 1] = kDigits[std::to_integer<unsigned>(bytes[i] & std::byte{0xF})];
  }
  return text;
}

}  // namespace farport
