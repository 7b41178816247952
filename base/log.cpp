#include "base/log.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/escape.hpp"
#include "base/unblocked_writer.hpp"

namespace farport {
namespace {

constexpr spdlog::level::level_enum level_of(LogLevel level) {
  return static_cast<spdlog::level::level_enum>(level);
}
static_assert(level_of(LogLevel::debug) == spdlog::level::debug &&
              level_of(LogLevel::error) == spdlog::level::err);

/// Implements %* in a pattern: the message as a JSON string, with quotes.
class JsonMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const nlohmann::json text = std::string(message.payload.data(), message.payload.size());
    const std::string quoted = text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    out.append(quoted.data(), quoted.data() + quoted.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonMessage>();
  }
};

/// The level's colour on a terminal (ECMA-48, SGR).
std::string_view colour_of(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::warn:
      return "\x1b[33m\x1b[1m";
    case spdlog::level::err:
    case spdlog::level::critical:
      return "\x1b[31m\x1b[1m";
    case spdlog::level::info:
      return "\x1b[32m";
    default:
      return "\x1b[36m";
  }
}
constexpr std::string_view kNoColour = "\x1b[m";

/// A sink for standard error that never waits for its reader, and calls `before_line`, unless it is empty,
/// before each line.
class StderrSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  StderrSink(bool coloured, std::function<void()> before_line)
      : coloured_(coloured), before_line_(std::move(before_line)) {}
  [[nodiscard]] std::uint64_t lost() const { return writer_.lost(); }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (before_line_) before_line_();
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    std::string text(line.data(), line.size());
    if (coloured_ && message.color_range_end > message.color_range_start) {
      text.insert(message.color_range_end, kNoColour);
      text.insert(message.color_range_start, colour_of(message.level));
    }
    write(std::move(text));
  }
  void flush_() override {}

 private:
  void write(std::string text) {
    const std::uint64_t lost = writer_.lost();
    if (lost > told_) {
      text = std::to_string(lost - told_) + " lines of the log were lost: nothing read them\n" + text;
    }
    std::ignore = writer_.write(STDERR_FILENO, text);
    if (writer_.lost() == lost) told_ = lost;
  }

  bool coloured_;
  std::function<void()> before_line_;
  UnblockedWriter writer_;
  std::uint64_t told_ = 0;  ///< How many lost lines were reported so far.
};

std::unique_ptr<spdlog::formatter> text_formatter() {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<EscapedMessage>('*');
  formatter->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%-5l%$ %*");
  return formatter;
}

/// Implements %& in a pattern: the level as a priority of sd-daemon(3), such as "<6>", which the journal
/// strips.
class JournalPriority : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    constexpr std::string_view kByLevel = "7764322";  // trace, debug, info, warn, error, critical, off
    const auto level = static_cast<std::size_t>(message.level);
    const char digit = kByLevel[std::min(level, kByLevel.size() - 1)];
    const std::array<char, 3> text{'<', digit, '>'};
    out.append(text.data(), text.data() + text.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JournalPriority>();
  }
};

/// Without time and level, which the journal adds to each line.
std::unique_ptr<spdlog::formatter> journal_formatter() {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<EscapedMessage>('*').add_flag<JournalPriority>('&');
  formatter->set_pattern("%&%*");
  return formatter;
}

/// Whether standard error is connected to the journal (systemd.exec(5), JOURNAL_STREAM).
bool is_journal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat status {};
  if (stream == nullptr || ::fstat(STDERR_FILENO, &status) != 0) return false;
  return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) == stream;
}

std::unique_ptr<spdlog::formatter> json_formatter() {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<JsonMessage>('*');
  formatter->set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","message":%*})");
  return formatter;
}

}  // namespace

void Logger::set_level(LogLevel level) {
  if (to_ != nullptr) to_->set_level(level_of(level));
}

void Logger::write(LogLevel level, fmt::string_view format, fmt::format_args args) {
  if (to_ == nullptr || !to_->should_log(level_of(level))) return;
  fmt::memory_buffer message;
  fmt::vformat_to(fmt::appender(message), format, args);
  to_->log(level_of(level), spdlog::string_view_t(message.data(), message.size()));
}

Result<Log> make_log(std::string_view level, std::string_view format, std::function<void()> before_line) {
  const auto parsed = spdlog::level::from_str(std::string(level));
  if (parsed == spdlog::level::off && level != "off") {
    return fail("use log level", level, "no such level", "use trace, debug, info, warn, error or off");
  }
  if (format != "text" && format != "json") {
    return fail("use log format", format, "no such format", "use text or json");
  }
  auto sink =
      std::make_shared<StderrSink>(format == "text" && isatty(STDERR_FILENO) != 0, std::move(before_line));
  auto log = std::make_shared<spdlog::logger>("farport", std::move(sink));
  log->set_formatter(format == "json" ? json_formatter()
                     : is_journal()   ? journal_formatter()
                                      : text_formatter());
  log->set_level(parsed);
  return std::make_shared<Logger>(std::move(log));
}

std::uint64_t lost_lines(const Log& log) {
  if (log->sink() == nullptr || log->sink()->sinks().empty()) return 0;
  const auto* sink = dynamic_cast<StderrSink*>(log->sink()->sinks().front().get());
  return sink == nullptr ? 0 : sink->lost();
}

Log make_silent_log() {
  return std::make_shared<Logger>(nullptr);
}

Log make_notices() {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<EscapedMessage>('*');
  formatter->set_pattern("farport: %*");
  auto log = std::make_shared<spdlog::logger>("farport", std::make_shared<spdlog::sinks::stderr_sink_st>());
  log->set_formatter(std::move(formatter));
  log->set_level(spdlog::level::err);
  return std::make_shared<Logger>(std::move(log));
}

}  // namespace farport
