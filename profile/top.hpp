// The frames that took the most.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.hpp"

namespace farport::profile {

/// What all calls of a frame took, in samples.
struct FrameCost {
  FrameId frame = 0;
  std::uint64_t self = 0;     ///< Samples that ended in it.
  std::uint64_t waiting = 0;  ///< Those of them that waited.
  std::uint64_t total = 0;    ///< Samples that it was part of: once, however often it called itself.
};

/// By self, then total, the greatest first; at most `most`.
[[nodiscard]] std::vector<FrameCost> top_frames(const Profile& profile, std::size_t most);

/// The same as a table of a line for each frame, escaped, below lines that say how many samples there are of
/// what.
[[nodiscard]] std::string top_table(const Profile& profile, std::size_t rows);

// What a profile is of, in a line.

/// "Orders (pid 4711): 2970 samples in 30.0 s, one each 10.1 ms of processor time; 3 lost", escaped.
[[nodiscard]] std::string summary_of(const Profile& profile);

/// "10.1 ms": in the unit that suits it.
[[nodiscard]] std::string duration_text(std::chrono::nanoseconds duration);

}  // namespace farport::profile
