// Log lines whose arguments become text only where the log takes the line.
#pragma once

#include <algorithm>
#include <string_view>

#include <fmt/core.h>

namespace farport {

/// What fmt::formatter of a type derives from whose text a function makes: format() has that text written.
class TextFormatter {
 public:
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }

 protected:
  static fmt::format_context::iterator write(std::string_view text, fmt::format_context& context) {
    return std::copy(text.begin(), text.end(), context.out());
  }
};

}  // namespace farport
