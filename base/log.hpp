// Log: a logger to standard error, made in main and handed to all that write to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include <fmt/core.h>
#include <spdlog/fwd.h>

#include "base/error.hpp"

namespace farport {

/// With the values of spdlog::level::level_enum.
enum class LogLevel : std::uint8_t { debug = 1, info, warn, error };

/// Hides spdlog, so that only sources that make loggers include its headers.
class Logger {
 public:
  /// A null logger drops everything.
  explicit Logger(std::shared_ptr<spdlog::logger> to) : to_(std::move(to)) {}

  template <typename... Args>
  void debug(fmt::format_string<Args...> format, const Args&... args) {
    write(LogLevel::debug, format, fmt::make_format_args(args...));
  }
  template <typename... Args>
  void info(fmt::format_string<Args...> format, const Args&... args) {
    write(LogLevel::info, format, fmt::make_format_args(args...));
  }
  template <typename... Args>
  void warn(fmt::format_string<Args...> format, const Args&... args) {
    write(LogLevel::warn, format, fmt::make_format_args(args...));
  }
  template <typename... Args>
  void error(fmt::format_string<Args...> format, const Args&... args) {
    write(LogLevel::error, format, fmt::make_format_args(args...));
  }
  /// Logs a message as it is.
  void say(LogLevel level, std::string_view message) { write(level, "{}", fmt::make_format_args(message)); }

  /// Messages below the level are dropped before they are formatted.
  void set_level(LogLevel level);

  /// The spdlog logger; nullptr if everything is dropped.
  [[nodiscard]] spdlog::logger* sink() const { return to_.get(); }

 private:
  void write(LogLevel level, fmt::string_view format, fmt::format_args args);

  std::shared_ptr<spdlog::logger> to_;
};

using Log = std::shared_ptr<Logger>;

/// Makes a logger that writes to standard error and never waits for its reader. `level`: trace, debug, info,
/// warn, error or off. `format`: "text" (coloured on a terminal only) or "json" (one object a line: time,
/// level, message). Calls `before_line`, unless it is empty, before each line that is written, for programs
/// that draw on the same terminal.
[[nodiscard]] Result<Log> make_log(std::string_view level, std::string_view format,
                                   std::function<void()> before_line = {});

/// How many lines were lost because standard error took none: the log never waits.
[[nodiscard]] std::uint64_t lost_lines(const Log& log);

/// A logger that drops everything, for tests and for commands that print their own errors.
[[nodiscard]] Log make_silent_log();

/// Base class for a fmt::formatter of a type: its format() makes the text and passes it to write(). The text
/// is made only if the log takes the line.
class TextFormatter {
 public:
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }

 protected:
  static fmt::format_context::iterator write(std::string_view text, fmt::format_context& context) {
    return std::copy(text.begin(), text.end(), context.out());
  }
};

/// A logger that writes "farport: MESSAGE" to standard error, for a command that runs beside a tool which has
/// the terminal. It logs errors only, until its level is lowered to warnings.
[[nodiscard]] Log make_notices();

}  // namespace farport
