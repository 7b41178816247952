// UTF-16, which the protocol speaks, to UTF-8 and back.
#pragma once

#include <string>
#include <string_view>

namespace farport::ipc {

/// UTF-16 as UTF-8. A surrogate without its other half becomes U+FFFD.
[[nodiscard]] std::string to_utf8(std::u16string_view utf16);

/// UTF-8 as UTF-16. Each longest part of a sequence that is invalid or incomplete becomes one U+FFFD, also
/// for overlong forms, encoded surrogates and anything above U+10FFFF (Unicode 15, section 3.9).
[[nodiscard]] std::u16string to_utf16(std::string_view utf8);

}  // namespace farport::ipc
