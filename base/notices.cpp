#include "base/notices.hpp"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "base/escaped_message.hpp"

namespace farport {

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
