#include "cli/output/output.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "base/escape.hpp"

namespace farport::cli {

std::string output_path(const std::string& given, const std::string& runtime, std::string_view extension) {
  std::string wanted = given;
  if (wanted.empty()) {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    localtime_r(&now, &parts);
    std::array<char, sizeof "20260101_120000"> time{};
    std::strftime(time.data(), time.size(), "%Y%m%d_%H%M%S", &parts);
    wanted = fmt::format("{}_{}{}", file_name_for(runtime), time.data(), extension);
  }
  std::error_code error;
  return std::filesystem::absolute(wanted, error).lexically_normal().string();
}

Result<void> print_path(const std::string& path) {
  const std::string shown = ::isatty(STDOUT_FILENO) != 0 ? escape(path) : path;
  // EPIPE means that nobody reads the output any more, which is no error.
  if ((std::printf("%s\n", shown.c_str()) >= 0 && std::fflush(stdout) == 0) || errno == EPIPE) return {};
  return fail_errno("write to", "standard output", errno);
}

Result<void> keep_output(OutputFile* file) {
  if (file == nullptr) return {};
  Result<void> kept = file->keep();
  return kept ? print_path(file->path()) : kept;
}

using transport::Task;

Result<ipc::CollectTracing> EventLines::prepare(const router::Runtime& /*runtime*/) {
  ASSIGN_OR_RETURN(auto out, settings_.output.empty()
                                 ? RecordingFile::standard_output()
                                 : RecordingFile::create(settings_.output, settings_.force));
  RETURN_IF_ERROR(begin_reading({}, std::move(out)));
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
