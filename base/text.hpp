// Text: numbers in it, and text forms of bytes, such as hexadecimal, tokens, UTF-16 and GUIDs.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include <sys/types.h>

namespace farport {

/// The whole of `text` as a number, independent of the locale. Empty if anything stands before or behind the
/// number, or it does not fit into `Number`. Only signed types take a minus sign. A fraction is always
/// decimal.
template <typename Number>
[[nodiscard]] std::optional<Number> number_in(std::string_view text, int base = 10) {
  Number number{};
  const char* const begin = text.data();
  const char* const behind = begin + text.size();
  std::from_chars_result read{};
  if constexpr (std::is_floating_point_v<Number>) {
    read = std::from_chars(begin, behind, number);
  } else {
    read = std::from_chars(begin, behind, number, base);
  }
  if (read.ec != std::errc() || read.ptr != behind) return std::nullopt;
  return number;
}

/// The number of a user or a group. The largest is no user's: -1 means "unchanged" to setresuid(2).
[[nodiscard]] inline std::optional<uid_t> user_number_in(std::string_view text) {
  const auto number = number_in<uid_t>(text);
  return number == static_cast<uid_t>(-1) ? std::nullopt : number;
}

/// Whether the text is one or more decimal digits.
[[nodiscard]] inline bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// An ASCII letter or digit, whatever the locale.
[[nodiscard]] constexpr bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Takes what stands before the next `separator` from the front of `rest`, and the separator with it; all of
/// `rest` if it has none.
inline std::string_view take_until(std::string_view& rest, char separator) {
  const std::string_view part = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

/// The bytes in hexadecimal, two lower-case digits each.
[[nodiscard]] std::string hex(std::span<const std::byte> bytes);

/// The text with all but unreserved characters encoded for a URL (RFC 3986 section 2.1).
[[nodiscard]] std::string percent_encoded(std::string_view text);

/// An unguessable token: 128 random bits as 32 lower-case hexadecimal digits. Throws if the system provides
/// no randomness.
[[nodiscard]] std::string random_token();
/// Whether the text has the form of a random_token().
[[nodiscard]] bool is_token(std::string_view text);

// ASCII comparison without case.

[[nodiscard]] constexpr char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] inline bool equal_without_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower_case(x) == lower_case(y); });
}

/// The bytes of an IPv4 or IPv6 address in network order, 4 or 16 of them. Empty if the text is no address,
/// or one with a port, brackets or a scope.
[[nodiscard]] std::vector<std::uint8_t> ip_address_bytes(const std::string& text);
/// Whether the text is such an address.
[[nodiscard]] inline bool is_ip_address(const std::string& text) {
  return !ip_address_bytes(text).empty();
}

/// HOST:PORT, with brackets around an IPv6 address (RFC 3986 section 3.2.2).
[[nodiscard]] inline std::string authority(const std::string& host, std::uint16_t port) {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

/// The first `most` bytes of a text, or up to three less so as not to cut a UTF-8 character in two.
[[nodiscard]] std::string_view shortened(std::string_view text, std::size_t most);

/// Converts UTF-16, which .NET's formats use, to UTF-8. An unpaired surrogate becomes U+FFFD.
[[nodiscard]] std::string to_utf8(std::u16string_view utf16);
/// The same for little-endian units that need not be aligned. An odd last byte is ignored.
[[nodiscard]] std::string to_utf8(std::span<const std::byte> utf16);

/// Converts UTF-8 to UTF-16. Each maximal invalid or incomplete part of a sequence becomes one U+FFFD,
/// including overlong forms, encoded surrogates and values above U+10FFFF (Unicode 15, section 3.9).
[[nodiscard]] std::u16string to_utf16(std::string_view utf8);

/// A GUID, which identifies a runtime, a profiler, a provider or an activity. The 16 bytes are in .NET's
/// order. The text shows the first three fields as numbers, which are little-endian in the bytes, and the
/// rest byte by byte, as .NET's System.Guid does.
struct Guid {
  std::array<std::byte, 16> bytes{};

  /// "123e4567-e89b-12d3-a456-426614174000", lower case.
  [[nodiscard]] std::string to_string() const;
  /// The inverse of to_string(), in either case; empty for any other text.
  [[nodiscard]] static std::optional<Guid> parse(std::string_view text);

  friend auto operator<=>(const Guid&, const Guid&) = default;
};

}  // namespace farport
