#include "cli/terminal/progress_line.hpp"

#include <fmt/format.h>

namespace farport::cli {
namespace {

constexpr transport::Milliseconds kBetween{200};
constexpr double kKibibyte = 1 << 10;
constexpr double kMebibyte = 1 << 20;

std::string size_text(double bytes) {
  return bytes < kMebibyte ? fmt::format("{:.0f} KiB", bytes / kKibibyte)
                           : fmt::format("{:.1f} MiB", bytes / kMebibyte);
}

}  // namespace

void ProgressLine::begin(std::string what, std::optional<Clock::duration> length) {
  what_ = std::move(what);
  length_ = length;
  began_ = Clock::now();
  draw();
}

void ProgressLine::note(std::string doing) {
  doing_ = std::move(doing);
  draw();
}

void ProgressLine::end() {
  stop();
  line_.end();
}

std::string ProgressLine::describe(Clock::time_point now) const {
  const double seconds = std::chrono::duration<double>(now - began_).count();
  const auto bytes = static_cast<double>(bytes_);
  std::string text = what_ + ": " + size_text(bytes);
  if (seconds > 0) text += ", " + size_text(bytes / seconds) + "/s";
  if (!doing_.empty()) return text + ", " + doing_;
  if (!length_) return text + fmt::format(", {:.0f} s, until Ctrl-C", seconds);
  const double left = std::chrono::duration<double>(*length_ - (now - began_)).count();
  return text + fmt::format(", {:.0f} s left", left > 0 ? left : 0);
}

void ProgressLine::draw() {
  if (!line_.on_terminal() || what_.empty()) return;
  line_.draw(describe(Clock::now()));
  stop();
  start(kBetween);
}

}  // namespace farport::cli
