#include <algorithm>
#include <optional>

#include "base/escape.hpp"
#include "base/text.hpp"
#include "profile/form.hpp"
#include "profile/profile.hpp"

namespace farport::profile {
namespace {

constexpr std::string_view kUnknown = "[unknown]";
constexpr std::string_view kKernel = "[kernel.kallsyms]";

/// A thread's name as one word. Readers search for the numbers after it and would mistake numbers in a name
/// for them.
std::string word_of(const ProfiledThread& thread, const Profile& profile) {
  std::string word = thread.name.empty() ? profile.process : thread.name;
  std::replace_if(
      word.begin(), word.end(), [](char c) { return !is_letter_or_digit(c) && c != '.'; }, '_');
  return word.empty() ? "_" : word;
}

/// Readers recognise kernel frames by brackets around the module, and locate the module by parentheses and
/// spaces, so these must not occur in its name.
std::string perf_module(const Frame& frame) {
  if (frame.kind == FrameKind::kernel) return std::string(kKernel);
  if (frame.module.empty()) return std::string(kUnknown);
  std::string module = escape(frame.module);
  constexpr std::string_view kSpecial = "()[] ";
  const auto is_special = [&](char each) { return kSpecial.find(each) != std::string_view::npos; };
  std::replace_if(module.begin(), module.end(), is_special, '_');
  return module;
}

class PerfScript {
 public:
  PerfScript(const Profile& profile, Output& out)
      : profile_(profile), out_(out), ends_(profile.threads.size()) {}

  void write() {
    for (const Sample& sample : profile_.samples.each()) {
      if (!out_.good()) return;
      // Half an interval of tolerance, since timers are not exact.
      if (ends_[sample.thread] && *ends_[sample.thread] + profile_.interval / 2 < sample.time)
        put_idle(sample.thread);
      put_sample(sample);
      ends_[sample.thread] = sample.time + profile_.interval;
    }
    for (std::uint32_t thread = 0; thread < ends_.size(); ++thread)
      if (ends_[thread]) put_idle(thread);
  }

 private:
  void put_event(std::string_view name, std::uint64_t pid, std::uint64_t id, std::uint32_t thread,
                 std::chrono::nanoseconds at, std::string_view event) {
    const std::int64_t time = (profile_.began.time_since_epoch() + at).count();
    out_.print("{} {}/{} [{:03}] {}.{:09}: {:>10} {}: \n", name, pid, id, thread, time / 1'000'000'000,
               time % 1'000'000'000, profile_.interval.count(), event);
  }

  void put_sample(const Sample& sample) {
    const ProfiledThread& thread = profile_.threads[sample.thread];
    put_event(word_of(thread, profile_), profile_.pid, thread.id, sample.thread, sample.time, "cpu-clock");
    if (sample.waiting) out_.print("\t{:>16x} {} ({})\n", 0, kWaiting, kWaiting);
    for (CallId call = sample.call; call != kRoot; call = profile_.calls.caller(call))
      put_frame(profile_.frames[profile_.calls.frame(call)]);
    out_.put("\n");
  }

  /// Writes an idle event at the end of the thread's last sample.
  void put_idle(std::uint32_t thread) {
    put_event("swapper", 0, 0, thread, *ends_[thread], "idle");
    out_.put("\n");
  }

  void put_frame(const Frame& frame) {
    // Readers strip an offset. With one, they keep the name unchanged whatever it contains.
    const std::string symbol = frame.name.empty() ? std::string(kUnknown) : escape(frame.name) + "+0x0";
    out_.print("\t{:>16x} {} ({})\n", frame.address, symbol, perf_module(frame));
  }

  const Profile& profile_;
  Output& out_;
  std::vector<std::optional<std::chrono::nanoseconds>> ends_;  ///< Of each thread's last sample.
};

}  // namespace

void write_perf_script(const Profile& profile, Output& out) {
  PerfScript(profile, out).write();
}

}  // namespace farport::profile
