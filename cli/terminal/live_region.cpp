#include "cli/terminal/live_region.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/format.h>
#include <unistd.h>

#include "cli/terminal/table.hpp"
#include "transport/child_process.hpp"

namespace farport::cli {

StatusLine::StatusLine() : terminal_(::isatty(STDERR_FILENO) != 0) {}

void StatusLine::draw(const std::string& text) {
  if (!terminal_) return;
  // A wrapped line could not be erased.
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

/// The completed part, from 0 to 1; empty if unknown.
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
  if (on_terminal()) draw(bar(progress) + rate_.describe(progress));
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
  redraw();
}

void ProgressLine::note(std::string doing) {
  doing_ = std::move(doing);
  redraw();
}

void ProgressLine::end() {
  stop();
  StatusLine::end();
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

void ProgressLine::redraw() {
  if (!on_terminal() || what_.empty()) return;
  draw(describe(Clock::now()));
  stop();
  start(kBetween);
}

namespace {

/// Opens the file on `fd` again, since O_NONBLOCK applies to the open file, which the shell and other
/// programs share.
UniqueFd open_again(int fd) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  UniqueFd again(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  // Another user's terminal (su, sudo) can't be opened, but can be written to.
  return again ? std::move(again) : UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

}  // namespace

bool can_draw_on(int fd) {
  const char* kind = std::getenv("TERM");
  return ::isatty(fd) != 0 && kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
}

std::size_t lines_taken(const std::vector<std::size_t>& widths, std::size_t columns) {
  std::size_t lines = 0;
  for (const std::size_t width : widths) {
    lines += columns == 0 ? 1 : std::max<std::size_t>(1, (width + columns - 1) / columns);
  }
  return lines;
}

LiveRegion::LiveRegion(int fd)
    : terminal_(fd), background_from_start_(transport::is_ignored(SIGINT)), out_(open_again(fd)) {}

bool LiveRegion::in_foreground() const {
  return !background_from_start_ && ::tcgetpgrp(terminal_) == ::getpgrp();
}

TerminalSize LiveRegion::room() const {
  TerminalSize size = terminal_size(terminal_);
  // The cursor is on a line of its own below.
  if (size.rows > 1) --size.rows;
  return size;
}

std::string LiveRegion::to_first_line() const {
  const TerminalSize size = room();
  const std::size_t up = std::min(lines_taken(drawn_, size.columns), size.rows);
  return up == 0 ? "\r" : fmt::format("\r\x1b[{}A", up);
}

bool LiveRegion::draw(const std::vector<std::string>& lines) {
  if (!flush()) return false;
  pending_ = to_first_line();
  drawn_.clear();
  for (const std::string& line : lines) {
    // Erase before writing: after a line as wide as the window, it would erase the last character.
    pending_ += "\x1b[2K" + line + "\r\n";
    drawn_.push_back(columns_of(line));
  }
  pending_ += "\x1b[J";
  return flush();
}

void LiveRegion::clear() {
  if (drawn_.empty() || !flush()) return;
  pending_ = to_first_line() + "\x1b[J";
  drawn_.clear();
  flush();
}

bool LiveRegion::flush() {
  while (!pending_.empty()) {
    const ssize_t written = ::write(out_.get(), pending_.data(), pending_.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (written < 0) break;  // the terminal is gone
    pending_.erase(0, static_cast<std::size_t>(written));
  }
  pending_.clear();
  return true;
}

}  // namespace farport::cli
