// The frames with the highest cost, and a profile's summary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.hpp"

namespace farport::profile {

/// The cost of a frame over all its calls, in samples.
struct FrameCost {
  FrameId frame = 0;
  std::uint64_t self = 0;     ///< Samples that ended in it.
  std::uint64_t waiting = 0;  ///< Those of them that waited.
  std::uint64_t total = 0;    ///< Samples with it on the stack; each counts once, even if it is recursive.
};

/// Ordered by self, then total, highest first; at most `most`.
[[nodiscard]] std::vector<FrameCost> top_frames(const Profile& profile, std::size_t most);

/// The same as an escaped table with a line for each frame, after lines with the number of samples.
[[nodiscard]] std::string top_table(const Profile& profile, std::size_t rows);

/// One escaped line: "Orders (pid 4711): 2970 samples in 30.0 s, one each 10.1 ms of processor time; 3 lost".
[[nodiscard]] std::string summary_of(const Profile& profile);

/// "10.1 ms", in a suitable unit.
[[nodiscard]] std::string duration_text(std::chrono::nanoseconds duration);

}  // namespace farport::profile
