#include "profile/summary.hpp"

#include <array>

#include <fmt/format.h>

#include "base/escape.hpp"

namespace farport::profile {

std::string summary_of(const Profile& profile) {
  std::string text =
      fmt::format("{} (pid {}): {} samples in {}, one each {} of {}", escape(profile.process), profile.pid,
                  profile.samples.size(), duration_text(profile.duration), duration_text(profile.interval),
                  profile.clock == Clock::wall ? "each thread's time" : "processor time");
  if (profile.lost > 0) text += fmt::format("; {} lost", profile.lost);
  return text;
}

std::string duration_text(std::chrono::nanoseconds duration) {
  struct Unit {
    double nanoseconds;
    std::string_view name;
  };
  constexpr std::array kUnits{Unit{1e9, "s"}, Unit{1e6, "ms"}, Unit{1e3, "us"}};
  const auto count = static_cast<double>(duration.count());
  for (const Unit& unit : kUnits)
    if (count >= unit.nanoseconds) return fmt::format("{:.1f} {}", count / unit.nanoseconds, unit.name);
  return fmt::format("{} ns", duration.count());
}

}  // namespace farport::profile
