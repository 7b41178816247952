// Guid: a runtime's cookie, the identity of a profiler, of a provider or of an activity.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace farport {

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
