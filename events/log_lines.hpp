// An application's log as lines.
#pragma once

#include <functional>

#include "events/line_maker.hpp"
#include "events/logs.hpp"

namespace farport::events {

class LogLines final : public LineMaker {
 public:
  /// `line_of`: an entry with its newline.
  explicit LogLines(std::function<std::string(const LogEntry&)> line_of) : line_of_(std::move(line_of)) {}

  void on_trace(const nettrace::TraceHeader& trace) override { trace_ = trace; }
  void on_event(const nettrace::Event& event) override;
  void on_dropped(const nettrace::Thread& thread, std::uint32_t events) override;
  std::string take_lines() override;
  std::vector<std::string> take_notices() override;

 private:
  std::function<std::string(const LogEntry&)> line_of_;
  nettrace::TraceHeader trace_;
  std::vector<LogEntry> entries_;
  std::uint64_t dropped_ = 0;
};

}  // namespace farport::events
