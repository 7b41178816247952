// TimeHistogram: how long something took, counted by how long, in buckets of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

namespace farport::router {

/// Unlike the loop's transport::DurationHistogram, which all of a turn waits for, it has its bounds at run
/// time.
class TimeHistogram {
 public:
  using Clock = std::chrono::steady_clock;

  /// `bounds`: the buckets' upper bounds, in ascending order, which belong to them; a last bucket has none.
  /// They must stay.
  explicit TimeHistogram(std::span<const std::chrono::milliseconds> bounds)
      : bounds_(bounds), counts_(bounds.size() + 1) {}

  void record(Clock::duration took) {
    std::size_t bucket = 0;
    while (bucket < bounds_.size() && took > bounds_[bucket]) ++bucket;
    ++counts_[bucket];
    sum_ += took;
  }

  [[nodiscard]] std::span<const std::chrono::milliseconds> bounds() const { return bounds_; }
  /// How many fell into each bucket; those of shorter ones not included.
  [[nodiscard]] std::span<const std::uint64_t> counts() const { return counts_; }
  /// All of them together.
  [[nodiscard]] std::chrono::nanoseconds sum() const { return sum_; }

 private:
  std::span<const std::chrono::milliseconds> bounds_;
  std::vector<std::uint64_t> counts_;
  std::chrono::nanoseconds sum_{};
};

/// Records the time from its making to its end. Must not outlive the histogram.
class RecordedTime {
 public:
  explicit RecordedTime(TimeHistogram& histogram) : histogram_(histogram) {}
  RecordedTime(const RecordedTime&) = delete;
  RecordedTime& operator=(const RecordedTime&) = delete;
  ~RecordedTime() { histogram_.record(TimeHistogram::Clock::now() - began_); }

 private:
  TimeHistogram& histogram_;
  TimeHistogram::Clock::time_point began_ = TimeHistogram::Clock::now();
};

}  // namespace farport::router
