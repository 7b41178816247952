// A name that nobody guesses.
#pragma once

#include <string>
#include <string_view>

namespace farport {

/// 128 random bits as 32 lower-case hexadecimal digits. Throws where the system has no randomness to give.
[[nodiscard]] std::string random_token();
/// Whether a text may be one.
[[nodiscard]] bool is_token(std::string_view text);

}  // namespace farport
