// Texts: bytes in hexadecimal, GUIDs, names that nobody guesses, words without case, HOST:PORT, UTF-16.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace farport {

/// Two lower-case digits for each byte.
[[nodiscard]] std::string hex(std::span<const std::byte> bytes);

// A name that nobody guesses.

/// 128 random bits as 32 lower-case hexadecimal digits. Throws where the system has no randomness to give.
[[nodiscard]] std::string random_token();
/// Whether a text may be one.
[[nodiscard]] bool is_token(std::string_view text);

// Comparing words of ASCII letters without their case.

[[nodiscard]] constexpr char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] inline bool equal_without_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower_case(x) == lower_case(y); });
}

/// HOST:PORT in one text.
/// With brackets around an IPv6 address (RFC 3986 section 3.2.2).
[[nodiscard]] inline std::string authority(const std::string& host, std::uint16_t port) {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

// UTF-16, which .NET's formats speak, to UTF-8 and back.

/// UTF-16 as UTF-8. A surrogate without its other half becomes U+FFFD.
[[nodiscard]] std::string to_utf8(std::u16string_view utf16);
/// The same of little-endian units that need not be aligned. An odd byte at the end is left out.
[[nodiscard]] std::string to_utf8(std::span<const std::byte> utf16);

/// UTF-8 as UTF-16. Each longest part of a sequence that is invalid or incomplete becomes one U+FFFD, also
/// for overlong forms, encoded surrogates and anything above U+10FFFF (Unicode 15, section 3.9).
[[nodiscard]] std::u16string to_utf16(std::string_view utf8);

/// Guid: a runtime's cookie, the identity of a profiler, of a provider or of an activity.
/// 16 bytes as .NET writes them. The text has the first three fields as numbers, which are little-endian
/// in the bytes, and the rest as bytes: the order of .NET's System.Guid.
struct Guid {
  std::array<std::byte, 16> bytes{};

  /// "123e4567-e89b-12d3-a456-426614174000", lower case.
  [[nodiscard]] std::string to_string() const;
  /// The opposite, in either case; nothing for any other form of text.
  [[nodiscard]] static std::optional<Guid> parse(std::string_view text);

  friend auto operator<=>(const Guid&, const Guid&) = default;
};

}  // namespace farport
