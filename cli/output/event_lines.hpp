// EventLines: prints a recording as lines, to standard output or a file.
#pragma once

#include <string>

#include "cli/output/reader_sink.hpp"
#include "config/settings.hpp"

namespace farport::cli {

class EventLines : public ReaderSink {
 public:
  /// All arguments must outlive this.
  EventLines(transport::Loop& loop, const router::ReaderProcess& readers,
             const config::RecordingSettings& settings, ipc::CollectTracing wanted)
      : ReaderSink(loop, readers), settings_(settings), wanted_(std::move(wanted)) {}

  Result<ipc::CollectTracing> prepare(const router::Runtime& runtime) override;
  transport::Task<void> broke_off() override;

 private:
  const config::RecordingSettings& settings_;
  ipc::CollectTracing wanted_;
};

/// "12:00:00.123", in local time.
[[nodiscard]] std::string clock_of(std::chrono::sys_time<std::chrono::microseconds> time);

}  // namespace farport::cli
