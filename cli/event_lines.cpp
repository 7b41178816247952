#include "cli/event_lines.hpp"

#include <array>
#include <ctime>

#include <fmt/format.h>

#include "cli/text.hpp"

namespace farport::cli {

using transport::Task;

namespace {

Result<std::shared_ptr<RecordingFile>> open_output(const config::RecordingSettings& settings) {
  return settings.output.empty() ? RecordingFile::standard_output()
                                 : RecordingFile::create(settings.output, settings.force);
}

}  // namespace

Result<ipc::CollectTracing> ReadLines::prepare(const router::Runtime& /*runtime*/) {
  auto out = open_output(settings_);
  if (!out) return tl::unexpected(out.error());
  const Result<void> begun = begin_reading({}, std::move(*out));
  if (!begun) return tl::unexpected(begun.error());
  return wanted_;
}

Task<void> ReadLines::broke_off() {
  std::ignore = co_await finish();
}

Result<ipc::CollectTracing> EventLines::prepare(const router::Runtime& /*runtime*/) {
  auto out = open_output(settings_);
  if (!out) return tl::unexpected(out.error());
  out_ = std::move(*out);
  return wanted_;
}

Task<Result<void>> EventLines::take(std::shared_ptr<const Piece> piece) {
  const Result<void> fed = feed(*piece);
  const Result<void> printed = co_await print_lines();
  if (!printed) co_return printed;
  co_return fed;
}

Result<void> EventLines::feed(const Piece& piece) {
  return reader_.feed(std::span(piece.bytes).first(piece.size));
}

Task<Result<void>> EventLines::print_lines() {
  for (const std::string& notice : maker_.take_notices()) print_message(notice);
  const std::string lines = maker_.take_lines();
  if (lines.empty()) co_return Result<void>();
  const auto piece = std::make_shared<Piece>();
  const auto bytes = std::as_bytes(std::span(lines));
  piece->bytes.assign(bytes.begin(), bytes.end());
  piece->size = piece->bytes.size();
  const Result<void> printed = co_await out_->append(loop_, piece);
  co_return printed;
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
