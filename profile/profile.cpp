#include "profile/profile.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <tuple>

#include <fmt/core.h>
#include <fmt/format.h>

#include "base/escape.hpp"

namespace farport::profile {
namespace {

std::size_t hash_of(const Frame& frame) {
  const std::hash<std::string> of_text;
  std::size_t hash = of_text(frame.name);
  hash = hash * 31 + of_text(frame.module);
  hash = hash * 31 + frame.address;
  return hash * 31 + static_cast<std::size_t>(frame.kind);
}

}  // namespace

std::string_view name_of(FrameKind kind) {
  switch (kind) {
    case FrameKind::managed:
      return "managed";
    case FrameKind::runtime:
      return "runtime";
    case FrameKind::native:
      return "native";
    case FrameKind::kernel:
      return "kernel";
  }
  return {};
}

std::string label_of(const Frame& frame) {
  if (!frame.name.empty()) return frame.name;
  if (frame.module.empty()) return fmt::format("{:#x}", frame.address);
  return fmt::format("{}+{:#x}", frame.module, frame.address);
}

std::string safe_label_of(const Frame& frame) {
  return escape(label_of(frame));
}

FrameId FrameTable::add(Frame frame) {
  const std::size_t hash = hash_of(frame);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto each = begin; each != end; ++each) {
    if (frames_[each->second] == frame) return each->second;
  }
  const auto id = static_cast<FrameId>(frames_.size());
  frames_.push_back(std::move(frame));
  by_hash_.emplace(hash, id);
  return id;
}

CallId CallTree::add(CallId caller, FrameId frame) {
  const std::uint64_t edge = std::uint64_t{caller} << 32 | frame;
  const auto known = by_edge_.find(edge);
  if (known != by_edge_.end()) return known->second;
  if (calls_.size() == kMaxCalls) return caller;
  const auto call = static_cast<CallId>(calls_.size());
  calls_.push_back({caller, frame});
  by_edge_.emplace(edge, call);
  return call;
}

std::vector<FrameId> CallTree::stack(CallId call) const {
  std::vector<FrameId> frames;
  for (; call != kRoot; call = caller(call)) frames.push_back(frame(call));
  std::reverse(frames.begin(), frames.end());
  return frames;
}

Children::Children(const CallTree& calls) : begins_(calls.size() + 1), children_(calls.size() - 1) {
  const auto size = static_cast<CallId>(calls.size());
  for (CallId call = kRoot + 1; call < size; ++call) ++begins_[calls.caller(call) + 1];
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  std::vector<std::uint32_t> next = begins_;
  for (CallId call = kRoot + 1; call < size; ++call) children_[next[calls.caller(call)]++] = call;
}

namespace {

/// Call, thread and state packed into one number, which sorts in that order.
std::uint64_t key_of(const Count& count) {
  return std::uint64_t{count.call} << 32 | std::uint64_t{count.thread} << 1 | std::uint64_t{count.waiting};
}

Count count_of(std::uint64_t key, std::uint64_t samples) {
  return {.call = static_cast<CallId>(key >> 32),
          .thread = static_cast<std::uint32_t>(key >> 1 & std::numeric_limits<std::int32_t>::max()),
          .waiting = (key & 1) != 0,
          .samples = samples};
}

}  // namespace

void SampleCounter::add(const Count& alike) {
  const std::uint64_t key = key_of(alike);
  // Often equal to the previous one: a waiting thread is sampled again and again.
  if (!pending_.empty() && pending_.back().key == key) {
    pending_.back().samples += alike.samples;
    return;
  }
  pending_.push_back({key, alike.samples});
  if (pending_.size() >= std::max(kFewestPending, counted_.size())) merge();
}

std::vector<Count> SampleCounter::take() {
  merge();
  std::vector<Count> counts;
  counts.reserve(counted_.size());
  for (const Counted& each : counted_) counts.push_back(count_of(each.key, each.samples));
  counted_.clear();
  return counts;
}

void SampleCounter::merge() {
  const auto before = [](const Counted& one, const Counted& other) { return one.key < other.key; };
  std::sort(pending_.begin(), pending_.end(), before);
  std::vector<Counted> merged;
  const auto add = [&](const Counted& next) {
    if (!merged.empty() && merged.back().key == next.key) {
      merged.back().samples += next.samples;
    } else {
      merged.push_back(next);
    }
  };
  auto known = counted_.cbegin();
  for (const Counted& each : pending_) {
    while (known != counted_.cend() && before(*known, each)) add(*known++);
    add(each);
  }
  std::for_each(known, counted_.cend(), add);
  counted_ = std::move(merged);
  pending_.clear();
}

Tally tally(const CallTree& calls, const std::vector<Count>& counts) {
  Tally tally{std::vector<std::uint64_t>(calls.size()), {}};
  for (const Count& count : counts) tally.self[count.call] += count.samples;
  tally.total = tally.self;
  // Callees have higher numbers than their callers.
  for (auto call = static_cast<CallId>(calls.size() - 1); call != kRoot; --call)
    tally.total[calls.caller(call)] += tally.total[call];
  return tally;
}

namespace {

Count count_of_one(const Sample& sample) {
  return {.call = sample.call, .thread = sample.thread, .waiting = sample.waiting, .samples = 1};
}

}  // namespace

void Samples::add(const Sample& sample) {
  ++size_;
  if (keep_ == Keep::each) {
    each_.push_back(sample);
  } else {
    counter_.add(count_of_one(sample));
  }
}

bool Samples::full() const {
  return keep_ == Keep::each ? each_.size() >= kMaxSamples : counter_.different() >= kMaxCounts;
}

std::vector<Count> Samples::counts() const {
  SampleCounter counter = counter_;
  for (const Sample& sample : each_) counter.add(count_of_one(sample));
  return counter.take();
}

void Samples::sort_by_time() {
  std::stable_sort(each_.begin(), each_.end(),
                   [](const Sample& one, const Sample& other) { return one.time < other.time; });
}

void Samples::remap_calls(const std::vector<CallId>& calls) {
  for (Sample& sample : each_) sample.call = calls[sample.call];
  SampleCounter renamed;
  for (Count count : counter_.take()) {
    count.call = calls[count.call];
    renamed.add(count);
  }
  counter_ = std::move(renamed);
}

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
