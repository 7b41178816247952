#include "base/log.hpp"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/escape.hpp"

namespace farport {
namespace {

/// %* in a pattern: the message as a JSON string, quotes included.
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

/// %* in a pattern: the message as one line that no terminal obeys. The audit may share standard error with
/// it, and what peers and runtimes put into a message must not look like a line of that.
class EscapedMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    escape_into(out, {message.payload.data(), message.payload.size()});
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<EscapedMessage>();
  }
};

std::unique_ptr<spdlog::formatter> text_formatter() {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<EscapedMessage>('*');
  formatter->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%-5l%$ %*");
  return formatter;
}

std::unique_ptr<spdlog::formatter> json_formatter() {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<JsonMessage>('*');
  formatter->set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","message":%*})");
  return formatter;
}

}  // namespace

Result<Log> make_log(std::string_view level, std::string_view format) {
  const auto parsed = spdlog::level::from_str(std::string(level));
  if (parsed == spdlog::level::off && level != "off") {
    return fail("use log level", level, "no such level", "use trace, debug, info, warn, error or off");
  }
  if (format != "text" && format != "json") {
    return fail("use log format", format, "no such format", "use text or json");
  }
  spdlog::sink_ptr sink;
  if (format == "text" && isatty(STDERR_FILENO) != 0) {
    sink = std::make_shared<spdlog::sinks::ansicolor_stderr_sink_st>();
  } else {
    sink = std::make_shared<spdlog::sinks::stderr_sink_st>();
  }
  auto log = std::make_shared<spdlog::logger>("farport", std::move(sink));
  log->set_formatter(format == "json" ? json_formatter() : text_formatter());
  log->set_level(parsed);
  return log;
}

Log make_silent_log() {
  return std::make_shared<spdlog::logger>("silent", std::make_shared<spdlog::sinks::null_sink_st>());
}

}  // namespace farport
