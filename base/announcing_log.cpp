#include "base/announcing_log.hpp"

#include <utility>

#include <spdlog/logger.h>
#include <spdlog/sinks/sink.h>

namespace farport {
namespace {

/// A sink that says when it is about to write.
class AnnouncingSink final : public spdlog::sinks::sink {
 public:
  AnnouncingSink(spdlog::sink_ptr to, std::function<void()> before_line)
      : to_(std::move(to)), before_line_(std::move(before_line)) {}
  void log(const spdlog::details::log_msg& message) override {
    before_line_();
    to_->log(message);
  }
  void flush() override { to_->flush(); }
  void set_pattern(const std::string& pattern) override { to_->set_pattern(pattern); }
  void set_formatter(std::unique_ptr<spdlog::formatter> formatter) override {
    to_->set_formatter(std::move(formatter));
  }

 private:
  spdlog::sink_ptr to_;
  std::function<void()> before_line_;
};

}  // namespace

Result<Log> make_announcing_log(std::string_view level, std::string_view format,
                                std::function<void()> before_line) {
  Result<Log> log = make_log(level, format);
  if (!log || !before_line) return log;
  spdlog::sink_ptr& sink = (*log)->sink()->sinks().front();
  sink = std::make_shared<AnnouncingSink>(sink, std::move(before_line));
  return log;
}

}  // namespace farport
