#include "base/guid.hpp"

#include <span>

#include "base/text.hpp"

namespace farport {
namespace {

/// Which byte each pair of digits stands for, from left to right.
constexpr std::array<std::size_t, 16> kTextOrder{3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr std::size_t kTextSize = 36;

bool dash_before(std::size_t pair) {
  return pair == 4 || pair == 6 || pair == 8 || pair == 10;
}

std::optional<unsigned> digit_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return std::nullopt;
}

}  // namespace

std::string Guid::to_string() const {
  std::string text;
  text.reserve(kTextSize);
  for (std::size_t pair = 0; pair < kTextOrder.size(); ++pair) {
    if (dash_before(pair)) text += '-';
    text += hex(std::span(&bytes[kTextOrder[pair]], 1));
  }
  return text;
}

std::optional<Guid> Guid::parse(std::string_view text) {
  if (text.size() != kTextSize) return std::nullopt;
  Guid guid;
  std::size_t at = 0;
  for (std::size_t pair = 0; pair < kTextOrder.size(); ++pair) {
    if (dash_before(pair) && text[at++] != '-') return std::nullopt;
    const std::optional<unsigned> high = digit_value(text[at++]);
    const std::optional<unsigned> low = digit_value(text[at++]);
    if (!high || !low) return std::nullopt;
    guid.bytes[kTextOrder[pair]] = static_cast<std::byte>(*high << 4 | *low);
  }
  return guid;
}

}  // namespace farport
