#include "profile/profile.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/core.h>

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
  if (calls_.size() == kMostCalls) return caller;
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
  return keep_ == Keep::each ? each_.size() >= kMostSamples : counter_.different() >= kMostCounts;
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

void Samples::rename_calls(const std::vector<CallId>& calls) {
  for (Sample& sample : each_) sample.call = calls[sample.call];
  SampleCounter renamed;
  for (Count count : counter_.take()) {
    count.call = calls[count.call];
    renamed.add(count);
  }
  counter_ = std::move(renamed);
}

}  // namespace farport::profile
