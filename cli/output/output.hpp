// Naming and keeping the files that commands write.
#pragma once

#include <string>
#include <string_view>

#include "base/output_file.hpp"
#include "cli/output/reader_sink.hpp"
#include "config/settings.hpp"

namespace farport::cli {

/// An absolute path: `given`, or if it is empty a file in the working directory named like dotnet-dump's,
/// "orders_20260101_120000.dmp", from the runtime's name, the time and the extension.
[[nodiscard]] std::string output_path(const std::string& given, const std::string& runtime,
                                      std::string_view extension);

/// Prints a result's path to standard output. Fails with the system's error, except that EPIPE, when nobody
/// reads it, is success.
[[nodiscard]] Result<void> print_path(const std::string& path);

/// Keeps the complete file and prints its path. Does nothing for nullptr. On failure there is no file.
[[nodiscard]] Result<void> keep_output(OutputFile* file);

/// Prints a recording as lines, to standard output or a file.
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
