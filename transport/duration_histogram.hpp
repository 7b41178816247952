// How long something took, counted by how long, as Prometheus wants it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace farport::transport {

/// Counts durations in buckets. Recording is two or three additions where durations are short.
class DurationHistogram {
 public:
  using Duration = std::chrono::nanoseconds;

  /// The buckets' upper bounds, which belong to them; a last bucket has none.
  static constexpr std::array<std::chrono::milliseconds, 10> kBounds{
      {std::chrono::milliseconds(1), std::chrono::milliseconds(2), std::chrono::milliseconds(5),
       std::chrono::milliseconds(10), std::chrono::milliseconds(20), std::chrono::milliseconds(50),
       std::chrono::milliseconds(100), std::chrono::milliseconds(200), std::chrono::milliseconds(500),
       std::chrono::milliseconds(1000)}};
  using Counts = std::array<std::uint64_t, kBounds.size() + 1>;

  void record(Duration took) {
    std::size_t bucket = 0;
    while (bucket < kBounds.size() && took > kBounds[bucket]) ++bucket;
    ++counts_[bucket];
    sum_ += took;
  }

  /// How many fell into each bucket; those of shorter ones not included.
  [[nodiscard]] const Counts& counts() const { return counts_; }
  /// All of them together.
  [[nodiscard]] Duration sum() const { return sum_; }

 private:
  Counts counts_{};
  Duration sum_{};
};

}  // namespace farport::transport
