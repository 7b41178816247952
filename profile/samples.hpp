// Samples of stacks: each of them, or how many are alike.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "profile/counts.hpp"

namespace farport::profile {

struct Sample {
  std::chrono::nanoseconds time{};  ///< Since the profile began.
  std::uint32_t thread = 0;         ///< The place in Profile::threads.
  CallId call = kRoot;              ///< The innermost one.
  bool waiting = false;             ///< It was not on a processor: only where the clock is the wall's.
};

/// What is kept of samples.
enum class Keep : std::uint8_t {
  counts,  ///< How many are alike, in memory for those that differ: all that a flame graph takes.
  each,    ///< Each of them, with its time.
};

class Samples {
 public:
  explicit Samples(Keep keep = Keep::each) : keep_(keep) {}

  /// While it is not full.
  void add(const Sample& sample);
  /// Whether one more would take more memory than samples may.
  [[nodiscard]] bool full() const;

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// By call, then thread, those that waited last.
  [[nodiscard]] std::vector<Count> counts() const;
  /// In the order in which they were added, or by time once they are sorted; none where counts are kept.
  [[nodiscard]] const std::vector<Sample>& each() const { return each_; }

  void sort_by_time();
  /// Gives each the call whose place in `calls` its call has been until now.
  void rename_calls(const std::vector<CallId>& calls);

 private:
  Keep keep_;
  std::uint64_t size_ = 0;
  std::vector<Sample> each_;
  SampleCounter counter_;
};

/// No more are kept one by one.
inline constexpr std::size_t kMostSamples = std::size_t{1} << 24;
/// No more that differ are counted.
inline constexpr std::size_t kMostCounts = std::size_t{1} << 22;

}  // namespace farport::profile
