// UTF-16, which .NET's formats speak, to UTF-8 and back.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace farport {

/// UTF-16 as UTF-8. A surrogate without its other half becomes U+FFFD.
[[nodiscard]] std::string to_utf8(std::u16string_view utf16);
/// The same of little-endian units that need not be aligned. An odd byte at the end is left out.
[[nodiscard]] std::string to_utf8(std::span<const std::byte> utf16);

/// UTF-8 as UTF-16. Each longest part of a sequence that is invalid or incomplete becomes one U+FFFD, also
/// for overlong forms, encoded surrogates and anything above U+10FFFF (Unicode 15, section 3.9).
[[nodiscard]] std::u16string to_utf16(std::string_view utf8);

}  // namespace farport
