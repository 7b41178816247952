#include "cli/progress_line.hpp"

#include <fmt/format.h>

namespace farport::cli {
namespace {

constexpr std::chrono::milliseconds kBetween{200};
constexpr double kMebibyte = 1 << 20;

}  // namespace

void ProgressLine::begin(std::string what, std::optional<Clock::duration> length) {
  what_ = std::move(what);
  length_ = length;
  began_ = Clock::now();
  draw(began_);
}

void ProgressLine::add(std::uint64_t bytes) {
  bytes_ += bytes;
  const Clock::time_point now = Clock::now();
  if (now - drawn_ >= kBetween) draw(now);
}

void ProgressLine::note(std::string doing) {
  doing_ = std::move(doing);
  draw(Clock::now());
}

std::string ProgressLine::describe(Clock::time_point now) const {
  const double seconds = std::chrono::duration<double>(now - began_).count();
  const double size = static_cast<double>(bytes_) / kMebibyte;
  std::string text = fmt::format("{}: {:.1f} MiB", what_, size);
  if (seconds > 0) text += fmt::format(", {:.1f} MiB/s", size / seconds);
  if (!doing_.empty()) return text + ", " + doing_;
  if (!length_) return text + fmt::format(", {:.0f} s, until Ctrl-C", seconds);
  const double left = std::chrono::duration<double>(*length_ - (now - began_)).count();
  return text + fmt::format(", {:.0f} s left", left > 0 ? left : 0);
}

void ProgressLine::draw(Clock::time_point now) {
  drawn_ = now;
  if (line_.on_terminal() && !what_.empty()) line_.draw(describe(now));
}

}  // namespace farport::cli
