// A log that says when it is about to write, for programs that draw on the same terminal.
#pragma once

#include <functional>

#include "base/log.hpp"

namespace farport {

/// As make_log(). `before_line` is called before each line that is written, where it is given.
[[nodiscard]] Result<Log> make_announcing_log(std::string_view level, std::string_view format,
                                              std::function<void()> before_line);

}  // namespace farport
