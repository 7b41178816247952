// Text forms of bytes: hexadecimal, tokens, host names, UTF-16 and GUIDs.
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

/// The bytes in hexadecimal, two lower-case digits each.
[[nodiscard]] std::string hex(std::span<const std::byte> bytes);

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

/// HOST:PORT, with brackets around an IPv6 address (RFC 3986 section 3.2.2).
[[nodiscard]] inline std::string authority(const std::string& host, std::uint16_t port) {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

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
