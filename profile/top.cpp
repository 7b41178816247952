#include "profile/top.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include <fmt/format.h>

#include "base/escape.hpp"
#include "profile/profile.hpp"

namespace farport::profile {
namespace {

/// Adds to each frame's total the cost of its outermost calls, so that recursive calls count once. Not
/// recursive itself, since a stack may have any depth.
void add_totals(std::vector<FrameCost>& costs, const CallTree& calls, const Tally& tally) {
  const Children children(calls);
  std::vector<std::uint32_t> on_the_way(costs.size());
  std::vector<CallId> entered;
  std::vector<CallId> pending(children.of(kRoot).begin(), children.of(kRoot).end());
  while (!pending.empty()) {
    const CallId call = pending.back();
    const FrameId frame = calls.frame(call);
    if (!entered.empty() && entered.back() == call) {
      --on_the_way[frame];
      entered.pop_back();
      pending.pop_back();
      continue;
    }
    if (on_the_way[frame]++ == 0) costs[frame].total += tally.total[call];
    entered.push_back(call);
    pending.insert(pending.end(), children.of(call).begin(), children.of(call).end());
  }
}

std::vector<FrameCost> frame_costs(const Profile& profile) {
  std::vector<FrameCost> costs(profile.frames.size());
  for (std::size_t id = 0; id < costs.size(); ++id) costs[id].frame = static_cast<FrameId>(id);
  const std::vector<Count> counts = profile.samples.counts();
  for (const Count& count : counts) {
    if (count.call == kRoot) continue;
    FrameCost& cost = costs[profile.calls.frame(count.call)];
    cost.self += count.samples;
    if (count.waiting) cost.waiting += count.samples;
  }
  add_totals(costs, profile.calls, tally(profile.calls, counts));
  return costs;
}

/// "Orders.Pricing.Quote [Orders.dll]".
std::string with_module(const Frame& frame) {
  if (frame.name.empty() || frame.module.empty()) return safe_label_of(frame);
  return fmt::format("{} [{}]", safe_label_of(frame), escape(frame.module));
}

}  // namespace

std::vector<FrameCost> top_frames(const Profile& profile, std::size_t most) {
  std::vector<FrameCost> costs = frame_costs(profile);
  const auto wanted = costs.begin() + static_cast<std::ptrdiff_t>(std::min(most, costs.size()));
  std::partial_sort(costs.begin(), wanted, costs.end(), [](const FrameCost& one, const FrameCost& other) {
    return std::tuple(other.self, other.total, one.frame) < std::tuple(one.self, one.total, other.frame);
  });
  costs.erase(wanted, costs.end());
  return costs;
}

std::string top_table(const Profile& profile, std::size_t rows) {
  const bool by_wall = profile.clock == Clock::wall;
  const double all = std::max<double>(1, static_cast<double>(profile.samples.size())) / 100;
  const auto share = [&](std::uint64_t samples) { return static_cast<double>(samples) / all; };
  std::string table = summary_of(profile) + "\n\n";
  table += fmt::format("{:>9} {:>6} {:>9} {:>6} {}{:<7}  {}\n", "SELF", "%", "TOTAL", "%",
                       by_wall ? "  WAITING " : " ", "KIND", "FRAME");
  for (const FrameCost& cost : top_frames(profile, rows)) {
    const Frame& frame = profile.frames[cost.frame];
    table += fmt::format("{:>9} {:>6.1f} {:>9} {:>6.1f} {} {:<7}  {}\n", cost.self, share(cost.self),
                         cost.total, share(cost.total), by_wall ? fmt::format("{:>9}", cost.waiting) : "",
                         name_of(frame.kind), with_module(frame));
  }
  return table;
}

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
