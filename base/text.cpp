#include "base/text.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <unistd.h>

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

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kUnreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string encoded;
  for (const char c : text) {
    if (kUnreserved.find(c) != std::string_view::npos) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

namespace {

constexpr std::size_t kBytes = 16;

}  // namespace

std::string random_token() {
  std::array<std::byte, kBytes> bytes{};
  // Directly from the kernel: OpenSSL's generator takes several times as long for so few bytes.
  if (::getentropy(bytes.data(), bytes.size()) != 0)
    throw std::runtime_error("the system provides no random numbers");
  return hex(bytes);
}

bool is_token(std::string_view text) {
  return text.size() == 2 * kBytes && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::vector<std::uint8_t> ip_address_bytes(const std::string& text) {
  std::vector<std::uint8_t> bytes(sizeof(in6_addr));
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return bytes;
  bytes.resize(sizeof(in_addr));
  if (::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) return bytes;
  return {};
}

std::string_view shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  const auto goes_on = [text](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  std::size_t end = most;
  // A character has four bytes at most.
  while (end > 0 && most - end < 3 && goes_on(end)) --end;
  return text.substr(0, goes_on(end) ? most : end);
}

namespace {

constexpr char32_t kReplacement = 0xFFFD;

bool is_high_surrogate(char32_t unit) {
  return unit >= 0xD800 && unit <= 0xDBFF;
}
bool is_low_surrogate(char32_t unit) {
  return unit >= 0xDC00 && unit <= 0xDFFF;
}

void append_utf8(std::string& text, char32_t code) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xE0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

void append_utf16(std::u16string& text, char32_t code) {
  if (code < 0x10000) {
    text += static_cast<char16_t>(code);
  } else {
    text += static_cast<char16_t>(0xD800 + ((code - 0x10000) >> 10));
    text += static_cast<char16_t>(0xDC00 + ((code - 0x10000) & 0x3FF));
  }
}

/// What the first byte of a UTF-8 sequence says about the rest (Unicode 15, table 3-7).
struct Lead {
  std::uint8_t tail = 0;    ///< Bytes that follow.
  std::uint8_t low = 0x80;  ///< Lowest value of the second byte; others are 80 to BF.
  std::uint8_t high = 0xBF;
  std::uint8_t bits = 0;  ///< The first byte's bits of the code point.
  bool valid = true;
};

Lead lead_of(std::uint8_t first) {
  if (first < 0x80) return {.bits = first};
  if (first < 0xC2 || first > 0xF4) return {.valid = false};
  if (first < 0xE0) return {.tail = 1, .bits = static_cast<std::uint8_t>(first & 0x1F)};
  if (first < 0xF0) {
    Lead lead{.tail = 2, .bits = static_cast<std::uint8_t>(first & 0x0F)};
    if (first == 0xE0) lead.low = 0xA0;
    if (first == 0xED) lead.high = 0x9F;
    return lead;
  }
  Lead lead{.tail = 3, .bits = static_cast<std::uint8_t>(first & 0x07)};
  if (first == 0xF0) lead.low = 0x90;
  if (first == 0xF4) lead.high = 0x8F;
  return lead;
}

/// The code point at `at`. Moves `at` past it, or past its invalid part.
char32_t next_code(std::string_view utf8, std::size_t& at) {
  Lead lead = lead_of(static_cast<std::uint8_t>(utf8[at++]));
  if (!lead.valid) return kReplacement;
  char32_t code = lead.bits;
  for (; lead.tail > 0; --lead.tail) {
    if (at == utf8.size()) return kReplacement;
    const auto byte = static_cast<std::uint8_t>(utf8[at]);
    if (byte < lead.low || byte > lead.high) return kReplacement;
    lead.low = 0x80;
    lead.high = 0xBF;
    code = code << 6 | (byte & 0x3F);
    ++at;
  }
  return code;
}

/// `unit_at` returns the UTF-16 unit at an index below `units`.
template <typename UnitAt>
std::string units_to_utf8(std::size_t units, const UnitAt& unit_at) {
  std::string text;
  text.reserve(units);
  for (std::size_t at = 0; at < units; ++at) {
    char32_t code = unit_at(at);
    if (is_high_surrogate(code) && at + 1 < units && is_low_surrogate(unit_at(at + 1))) {
      code = 0x10000 + ((code - 0xD800) << 10) + (unit_at(++at) - 0xDC00U);
    } else if (is_high_surrogate(code) || is_low_surrogate(code)) {
      code = kReplacement;
    }
    append_utf8(text, code);
  }
  return text;
}

}  // namespace

std::string to_utf8(std::u16string_view utf16) {
  return units_to_utf8(utf16.size(), [&](std::size_t at) { return utf16[at]; });
}

std::string to_utf8(std::span<const std::byte> utf16) {
  return units_to_utf8(utf16.size() / 2, [&](std::size_t at) {
    return static_cast<char16_t>(std::to_integer<unsigned>(utf16[2 * at]) |
                                 std::to_integer<unsigned>(utf16[2 * at + 1]) << 8);
  });
}

std::u16string to_utf16(std::string_view utf8) {
  std::u16string text;
  for (std::size_t at = 0; at < utf8.size();) append_utf16(text, next_code(utf8, at));
  return text;
}

namespace {

/// Index of the byte for each pair of digits, from left to right.
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
