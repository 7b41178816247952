#include <numeric>
#include <span>

#include <fmt/ranges.h>

#include "profile/form.hpp"
#include "profile/output.hpp"
#include "profile/profile.hpp"

namespace farport::profile {
namespace {

/// Consecutive equal samples of a thread.
struct Run {
  CallId call = kRoot;
  bool waiting = false;
  std::uint64_t samples = 0;
};

/// The indexes of samples in the profile, grouped by thread and ordered by time.
class SamplesByThread {
 public:
  explicit SamplesByThread(const Profile& profile)
      : begins_(profile.threads.size() + 1), places_(profile.samples.each().size()) {
    for (const Sample& sample : profile.samples.each()) ++begins_[sample.thread + 1];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    std::vector<std::uint32_t> next = begins_;
    for (std::size_t at = 0; at < places_.size(); ++at)
      places_[next[profile.samples.each()[at].thread]++] = static_cast<std::uint32_t>(at);
  }

  [[nodiscard]] std::span<const std::uint32_t> of(std::size_t thread) const {
    return std::span(places_).subspan(begins_[thread], begins_[thread + 1] - begins_[thread]);
  }

 private:
  std::vector<std::uint32_t> begins_;
  std::vector<std::uint32_t> places_;
};

std::vector<Run> runs_of(const Profile& profile, std::span<const std::uint32_t> places) {
  std::vector<Run> runs;
  for (const std::uint32_t place : places) {
    const Sample& sample = profile.samples.each()[place];
    if (runs.empty() || runs.back().call != sample.call || runs.back().waiting != sample.waiting)
      runs.push_back({sample.call, sample.waiting, 0});
    ++runs.back().samples;
  }
  return runs;
}

void put_frame(Output& out, const Frame& frame) {
  out.print("{{\"name\":{}", json_string(label_of(frame)));
  if (!frame.module.empty()) out.print(",\"file\":{}", json_string(frame.module));
  out.put("},");
}

/// `waiting`: the frame that marks waiting samples.
void put_thread(Output& out, const Profile& profile, const ProfiledThread& thread,
                const std::vector<Run>& runs, FrameId waiting) {
  const auto interval = static_cast<std::uint64_t>(profile.interval.count());
  std::uint64_t samples = 0;
  for (const Run& run : runs) samples += run.samples;
  const std::string name = thread.name.empty() ? "thread" : thread.name;
  out.print(R"({{"type":"sampled","name":{},"unit":"nanoseconds","startValue":0,"endValue":{},"samples":[)",
            json_string(fmt::format("{} ({})", name, thread.id)), samples * interval);
  for (std::size_t at = 0; at < runs.size() && out.good(); ++at) {
    std::vector<FrameId> stack = profile.calls.stack(runs[at].call);
    if (runs[at].waiting) stack.push_back(waiting);
    out.print("{}[{}]", at == 0 ? "" : ",", fmt::join(stack, ","));
  }
  out.put("],\"weights\":[");
  for (std::size_t at = 0; at < runs.size(); ++at)
    out.print("{}{}", at == 0 ? "" : ",", runs[at].samples * interval);
  out.put("]}");
}

}  // namespace

void write_speedscope(const Profile& profile, Output& out) {
  out.print(
      R"({{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"farport","name":{},)",
      json_string(profile.process));
  out.put("\"shared\":{\"frames\":[");
  const auto waiting = static_cast<FrameId>(profile.frames.size());
  for (FrameId id = 0; id < waiting; ++id) put_frame(out, profile.frames[id]);
  out.print("{{\"name\":\"{}\"}}]}},\"profiles\":[", kWaiting);
  const SamplesByThread samples(profile);
  for (std::size_t thread = 0; thread < profile.threads.size() && out.good(); ++thread) {
    if (thread > 0) out.put(",");
    put_thread(out, profile, profile.threads[thread], runs_of(profile, samples.of(thread)), waiting);
  }
  out.put("]}");
}

}  // namespace farport::profile
