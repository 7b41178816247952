#include <algorithm>

#include "base/escape.hpp"
#include "profile/form.hpp"
#include "profile/profile.hpp"

namespace farport::profile {
namespace {

/// Replaces semicolons, which separate frames.
std::string folded_name(std::string name) {
  std::replace(name.begin(), name.end(), ';', ':');
  return name;
}

std::string_view suffix_of(FrameKind kind) {
  if (kind == FrameKind::managed) return "_[j]";
  return kind == FrameKind::kernel ? "_[k]" : "";
}

/// Merges the counts of all threads with the same stack and state. In `counts`, those with the same stack are
/// adjacent.
std::vector<Count> merge_threads(const std::vector<Count>& counts) {
  std::vector<Count> merged;
  for (auto run = counts.begin(); run != counts.end();) {
    const auto end =
        std::find_if(run, counts.end(), [&](const Count& each) { return each.call != run->call; });
    for (const bool waiting : {false, true}) {
      Count sum{.call = run->call, .waiting = waiting};
      for (auto each = run; each != end; ++each)
        if (each->waiting == waiting) sum.samples += each->samples;
      if (sum.samples > 0) merged.push_back(sum);
    }
    run = end;
  }
  return merged;
}

}  // namespace

void write_folded(const Profile& profile, Output& out) {
  const std::string process = folded_name(escape(profile.process));
  for (const Count& count : merge_threads(profile.samples.counts())) {
    if (!out.good()) return;
    out.put(process);
    for (const FrameId id : profile.calls.stack(count.call)) {
      const Frame& frame = profile.frames[id];
      out.print(";{}{}", folded_name(safe_label_of(frame)), suffix_of(frame.kind));
    }
    if (count.waiting) out.print(";{}", kWaiting);
    out.print(" {}\n", count.samples);
  }
}

}  // namespace farport::profile
