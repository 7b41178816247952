#include "cli/terminal/progress_bar.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

#include <fmt/core.h>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/terminal/text.hpp"

namespace farport::cli {

StatusLine::StatusLine() : terminal_(::isatty(STDERR_FILENO) != 0) {}

void StatusLine::draw(const std::string& text) {
  if (!terminal_) return;
  // A line that is wrapped could not be taken back.
  std::fprintf(stderr, "\r\x1b[K%s", cut(escape(text), terminal_size(STDERR_FILENO).columns - 1).c_str());
  std::fflush(stderr);
  shown_ = true;
}

void StatusLine::interrupted(const std::string& why) {
  if (told_ == why) return;
  say(why + "; dialling again");
  told_ = why;
}

void StatusLine::say(const std::string& text) {
  end();
  print_message(text);
}

void StatusLine::end() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

namespace {

constexpr std::size_t kBarWidth = 30;

/// How much of it is done, from 0 to 1; nothing where that can't be told.
std::optional<double> share_of(const router::DumpProgress& progress) {
  const bool sending = progress.phase == router::DumpProgress::Phase::sending;
  const std::uint64_t done = sending ? progress.sent : progress.written;
  const std::uint64_t all = sending ? progress.total : progress.estimate.value_or(0);
  if (all == 0) return std::nullopt;
  return std::min(1.0, static_cast<double>(done) / static_cast<double>(all));
}

std::string bar(const router::DumpProgress& progress) {
  const auto share = share_of(progress);
  if (!share) return {};
  const auto filled = static_cast<std::size_t>(*share * kBarWidth);
  return "[" + std::string(filled, '#') + std::string(kBarWidth - filled, '.') + "] ";
}

}  // namespace

std::string DumpRate::describe(const router::DumpProgress& progress) {
  if (progress.phase != phase_) {
    phase_ = progress.phase;
    began_ = Clock::now();
  }
  const bool sending = progress.phase == router::DumpProgress::Phase::sending;
  const std::uint64_t done = sending ? progress.sent : progress.written;
  const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  std::string text = router::describe(progress);
  if (seconds > 0 && done > 0)
    text += fmt::format(", {:.0f} MiB/s", static_cast<double>(done >> 20) / seconds);
  return text;
}

void ProgressBar::show(const router::DumpProgress& progress) {
  if (line_.on_terminal()) line_.draw(bar(progress) + rate_.describe(progress));
}

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
