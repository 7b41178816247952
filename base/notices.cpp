#include "base/notices.hpp"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "base/escape.hpp"

namespace farport {
namespace {

/// %* in a pattern: the message as one line that no terminal obeys.
class EscapedMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    escape_into(out, {message.payload.data(), message.payload.size()});
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<EscapedMessage>();
  }
};

}  // namespace

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
