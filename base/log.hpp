// The log: one logger to stderr, made in main and handed to all that write to it. It writes with spdlog, but
// only the sources that make loggers include its headers.
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

enum class LogLevel : std::uint8_t { debug, info, warn, error };

class Logger {
 public:
  /// Without a logger of spdlog's it drops everything.
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
  /// A message as it is.
  void say(LogLevel level, std::string_view message) { write(level, "{}", fmt::make_format_args(message)); }

  /// Lines below it are dropped, before they are put together.
  void set_level(LogLevel level);

  /// What it writes to; nullptr where it drops everything.
  [[nodiscard]] spdlog::logger* sink() const { return to_.get(); }

 private:
  void write(LogLevel level, fmt::string_view format, fmt::format_args args);

  std::shared_ptr<spdlog::logger> to_;
};

using Log = std::shared_ptr<Logger>;

/// Makes a logger that writes to stderr, and never waits for what reads that.
/// `level`: trace, debug, info, warn, error or off. `format`: "text" (coloured on a terminal only) or
/// "json" (one object a line: time, level, message).
[[nodiscard]] Result<Log> make_log(std::string_view level, std::string_view format);

/// How many lines have been lost since nothing took them: the log waits for no reader.
[[nodiscard]] std::uint64_t lost_lines(const Log& log);

/// A logger that drops everything, for tests and for commands that print their own errors.
[[nodiscard]] Log make_silent_log();

/// Log lines whose arguments become text only where the log takes the line.
/// What fmt::formatter of a type derives from whose text a function makes: format() has that text written.
class TextFormatter {
 public:
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }

 protected:
  static fmt::format_context::iterator write(std::string_view text, fmt::format_context& context) {
    return std::copy(text.begin(), text.end(), context.out());
  }
};

/// A log that says when it is about to write, for programs that draw on the same terminal.
/// As make_log(). `before_line` is called before each line that is written, where it is given.
[[nodiscard]] Result<Log> make_announcing_log(std::string_view level, std::string_view format,
                                              std::function<void()> before_line);

/// What a command says that runs beside a tool which has the terminal.
/// A logger that writes "farport: MESSAGE" to stderr: errors, until its level is set to warnings.
[[nodiscard]] Log make_notices();

}  // namespace farport
