// How many samples are alike.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/call_tree.hpp"

namespace farport::profile {

/// Samples of one thread with the same stack.
struct Count {
  CallId call = kRoot;
  std::uint32_t thread = 0;
  bool waiting = false;
  std::uint64_t samples = 0;
};

/// Counts samples in memory for those that differ, of which there are mostly far fewer.
class SampleCounter {
 public:
  void add(const Count& alike);
  /// How many differ, as far as it is known: those that came last may not be among them yet.
  [[nodiscard]] std::size_t different() const { return counted_.size(); }
  /// By call, then thread, those that waited last. Leaves none.
  [[nodiscard]] std::vector<Count> take();

 private:
  struct Counted {
    std::uint64_t key = 0;
    std::uint64_t samples = 0;
  };

  /// So many that what sorting and merging take is a matter of the samples alone.
  static constexpr std::size_t kFewestPending = std::size_t{1} << 15;

  void merge();

  std::vector<Counted> pending_;  ///< As they came.
  std::vector<Counted> counted_;  ///< By key, each once.
};

/// Of each call, by its id.
struct Tally {
  std::vector<std::uint64_t> self;   ///< Samples that ended in it.
  std::vector<std::uint64_t> total;  ///< Those that went through it, too.
};

[[nodiscard]] Tally tally(const CallTree& calls, const std::vector<Count>& counts);

}  // namespace farport::profile
