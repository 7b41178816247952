#include "profile/counts.hpp"

#include <algorithm>
#include <limits>

namespace farport::profile {
namespace {

/// Call, thread and state as one number, which is less by call, then thread, then state.
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
  // A thread that waits is sampled again and again.
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
  // A call has a greater number than its caller.
  for (auto call = static_cast<CallId>(calls.size() - 1); call != kRoot; --call)
    tally.total[calls.caller(call)] += tally.total[call];
  return tally;
}

}  // namespace farport::profile
