#include <string_view>
#include <unordered_map>

#include "profile/form.hpp"
#include "profile/output.hpp"
#include "profile/page.hpp"
#include "profile/profile.hpp"

namespace farport::profile {
namespace {

/// Writes ,"name":[…] with what `element(at)` writes for each index below `size`.
template <typename Element>
void put_array(Output& out, std::string_view name, std::size_t size, const Element& element) {
  out.print(",\"{}\":[", name);
  for (std::size_t at = 0; at < size && out.good(); ++at) {
    if (at > 0) out.put(",");
    element(at);
  }
  out.put("]");
}

void put_head(Output& out, const Profile& profile) {
  const auto since_epoch =
      std::chrono::duration_cast<std::chrono::milliseconds>(profile.began.time_since_epoch());
  out.print("{{\"process\":{},\"pid\":{},\"clock\":\"{}\",\"began\":{},\"duration\":{},\"interval\":{},",
            json_string(profile.process), profile.pid, profile.clock == Clock::wall ? "wall" : "cpu",
            since_epoch.count(), profile.duration.count(), profile.interval.count());
  out.print("\"samples\":{},\"lost\":{}", profile.samples.size(), profile.lost);
}

void put_frames(Output& out, const FrameTable& frames) {
  std::unordered_map<std::string_view, std::size_t> modules;
  std::vector<std::string_view> in_order;
  std::vector<std::size_t> module_of(frames.size());
  for (std::size_t id = 0; id < frames.size(); ++id) {
    const std::string_view module = frames[static_cast<FrameId>(id)].module;
    const auto [known, added] = modules.emplace(module, in_order.size());
    if (added) in_order.push_back(module);
    module_of[id] = known->second;
  }
  const auto frame = [&](std::size_t id) -> const Frame& { return frames[static_cast<FrameId>(id)]; };
  put_array(out, "modules", in_order.size(), [&](std::size_t at) { out.put(json_string(in_order[at])); });
  put_array(out, "kinds", kFrameKinds.size(),
            [&](std::size_t at) { out.print("\"{}\"", name_of(kFrameKinds[at])); });
  put_array(out, "names", frames.size(), [&](std::size_t id) { out.put(json_string(label_of(frame(id)))); });
  put_array(out, "frameModules", frames.size(), [&](std::size_t id) { out.print("{}", module_of[id]); });
  put_array(out, "frameKinds", frames.size(),
            [&](std::size_t id) { out.print("{}", static_cast<int>(frame(id).kind)); });
}

void put_calls(Output& out, const CallTree& calls) {
  const auto call = [](std::size_t at) { return static_cast<CallId>(at + 1); };
  put_array(out, "frames", calls.size() - 1, [&](std::size_t at) { out.print("{}", calls.frame(call(at))); });
  put_array(out, "back", calls.size() - 1,
            [&](std::size_t at) { out.print("{}", call(at) - calls.caller(call(at))); });
}

void put_samples(Output& out, const Profile& profile) {
  put_array(out, "threads", profile.threads.size(), [&](std::size_t at) {
    // A string, since the id may exceed a script's integer range.
    out.print("{{\"id\":\"{}\",\"name\":{}}}", profile.threads[at].id, json_string(profile.threads[at].name));
  });
  const std::vector<Count> counts = profile.samples.counts();
  put_array(out, "counts", counts.size(), [&](std::size_t at) {
    const Count& count = counts[at];
    out.print("{},{},{:d},{}", count.call, count.thread, count.waiting, count.samples);
  });
}

}  // namespace

void write_html(const Profile& profile, Output& out) {
  constexpr std::size_t kMark = kPage.find(kDataMark);
  out.put(kPage.substr(0, kMark));
  put_head(out, profile);
  put_frames(out, profile.frames);
  put_calls(out, profile.calls);
  put_samples(out, profile);
  out.put("}");
  out.put(kPage.substr(kMark + kDataMark.size()));
}

}  // namespace farport::profile
