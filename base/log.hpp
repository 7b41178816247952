// The log: one spdlog logger to stderr, made in main and handed to whoever writes to it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <spdlog/logger.h>

#include "base/error.hpp"

namespace farport {

using Log = std::shared_ptr<spdlog::logger>;

/// Makes a logger that writes to stderr, and never waits for what reads that.
/// `level`: trace, debug, info, warn, error or off. `format`: "text" (coloured on a terminal only) or
/// "json" (one object a line: time, level, message).
[[nodiscard]] Result<Log> make_log(std::string_view level, std::string_view format);

/// How many lines have been lost since nothing took them: the log waits for no reader.
[[nodiscard]] std::uint64_t lost_lines(const Log& log);

/// A logger that drops everything, for tests and for commands that print their own errors.
[[nodiscard]] Log make_silent_log();

}  // namespace farport
