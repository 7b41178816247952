// How long something took, counted by how long, as Prometheus wants it.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

namespace farport::transport {

/// Counts durations in buckets. Recording is two or three additions where durations are short.
class DurationHistogram {
 public:
  using Clock = std::chrono::steady_clock;
  using Duration = std::chrono::nanoseconds;
  using Bounds = std::span<const std::chrono::milliseconds>;

  /// `bounds`: the buckets' upper bounds, in ascending order, which belong to them; a last bucket has none.
  /// They must stay.
  explicit DurationHistogram(Bounds bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}

  void record(Duration took) {
    std::size_t bucket = 0;
    while (bucket < bounds_.size() && took > bounds_[bucket]) ++bucket;
    ++counts_[bucket];
    sum_ += took;
  }

  [[nodiscard]] Bounds bounds() const { return bounds_; }
  /// How many fell into each bucket; those of shorter ones not included.
  [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }
  /// All of them together.
  [[nodiscard]] Duration sum() const { return sum_; }

 private:
  Bounds bounds_;
  std::vector<std::uint64_t> counts_;
  Duration sum_{};
};

/// Records the time from its making to its end. Must not outlive the histogram.
class RecordedTime {
 public:
  explicit RecordedTime(DurationHistogram& histogram) : histogram_(histogram) {}
  RecordedTime(const RecordedTime&) = delete;
  RecordedTime& operator=(const RecordedTime&) = delete;
  ~RecordedTime() { histogram_.record(DurationHistogram::Clock::now() - began_); }

 private:
  DurationHistogram& histogram_;
  DurationHistogram::Clock::time_point began_ = DurationHistogram::Clock::now();
};

}  // namespace farport::transport
