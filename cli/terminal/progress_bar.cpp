#include "cli/terminal/progress_bar.hpp"

#include <algorithm>
#include <optional>

#include <fmt/core.h>

namespace farport::cli {
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

}  // namespace farport::cli
