#include "cli/output/event_lines.hpp"

#include <ctime>

#include <fmt/format.h>

namespace farport::cli {

using transport::Task;

Result<ipc::CollectTracing> EventLines::prepare(const router::Runtime& /*runtime*/) {
  auto out = settings_.output.empty() ? RecordingFile::standard_output()
                                      : RecordingFile::create(settings_.output, settings_.force);
  if (!out) return tl::unexpected(out.error());
  const Result<void> begun = begin_reading({}, std::move(*out));
  if (!begun) return tl::unexpected(begun.error());
  return wanted_;
}

Task<void> EventLines::broke_off() {
  std::ignore = co_await finish();
}

std::string clock_of(std::chrono::sys_time<std::chrono::microseconds> time) {
  constexpr std::int64_t kMicrosecondsInMillisecond = 1000;
  constexpr std::int64_t kMillisecondsInSecond = 1000;
  const std::int64_t milliseconds = time.time_since_epoch().count() / kMicrosecondsInMillisecond;
  const std::time_t seconds = milliseconds / kMillisecondsInSecond;
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  return fmt::format("{:02}:{:02}:{:02}.{:03}", parts.tm_hour, parts.tm_min, parts.tm_sec,
                     milliseconds % kMillisecondsInSecond);
}

}  // namespace farport::cli
