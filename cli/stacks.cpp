// farport stacks: what each thread of a remote runtime is doing now.
#include <cstdio>
#include <map>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/recorder.hpp"
#include "cli/text.hpp"
#include "events/json.hpp"
#include "nettrace/reader.hpp"
#include "router/collect/cpu_profile.hpp"
#include "router/wanted/recordings.hpp"
#include "transport/timer.hpp"

namespace farport::cli {
namespace {

/// How threads are looked at from outside.
constexpr router::CpuSampling kLook{20, transport::Milliseconds(1000), true};
constexpr transport::Milliseconds kLooks{200};

std::string name_of(const profile::Frame& frame) {
  const bool in_file =
      !frame.name.empty() && frame.kind != profile::FrameKind::kernel && !frame.module.empty();
  return in_file ? frame.module + "!" + frame.name : profile::label_of(frame);
}

/// Of each thread, what was seen last.
std::vector<events::ThreadStack> last_stacks(const profile::Profile& profile) {
  std::map<std::uint64_t, events::ThreadStack> by_thread;
  for (const profile::Sample& sample : profile.samples.each()) {
    const profile::ProfiledThread& thread = profile.threads[sample.thread];
    events::ThreadStack stack{thread.id, thread.name, std::nullopt, {}};
    const std::vector<profile::FrameId> frames = profile.calls.stack(sample.call);
    for (const profile::FrameId frame : std::ranges::reverse_view(frames))
      stack.frames.push_back(name_of(profile.frames[frame]));
    by_thread[thread.id] = std::move(stack);
  }
  std::vector<events::ThreadStack> stacks;
  for (auto& [thread, stack] : by_thread) stacks.push_back(std::move(stack));
  return stacks;
}

class StackSink final : public RecordingSink {
 public:
  Result<ipc::CollectTracing> prepare(const router::Runtime& /*runtime*/) override {
    return router::wanted_samples();
  }
  transport::Task<Result<void>> take(std::shared_ptr<const Piece> piece) override {
    // It has answered after all.
    from_outside_.clear();
    co_return reader_.feed(std::span(piece->bytes).first(piece->size));
  }

  [[nodiscard]] Patience::Work work() const override { return Patience::Work::stacks; }
  transport::Task<Result<void>> do_without_answer(router::SessionManager& sessions,
                                                  std::string runtime_id) override {
    router::CpuProfile looked(sessions, runtime_id, kLook);
    auto begun = co_await looked.begin();
    if (!begun) co_return begun;
    // A thread that moves while it is looked at is seen the next time.
    co_await transport::sleep(sessions.loop(), kLooks);
    auto stopped = co_await looked.stop();
    if (!stopped) co_return stopped;
    auto received = co_await looked.receive([](std::size_t) {});
    if (!received) co_return received;
    profile::Profile threads;
    looked.samples().add_to(threads, {});
    from_outside_ = last_stacks(threads);
    if (from_outside_.empty()) co_return fail("look at", "the threads", "none of them could be seen");
    co_return received;
  }

  [[nodiscard]] bool was_silent() const { return !from_outside_.empty(); }
  void each(const std::function<void(const events::ThreadStack&)>& take) const {
    if (!was_silent()) return stacks_.each(take);
    for (const events::ThreadStack& stack : from_outside_) take(stack);
  }
  [[nodiscard]] std::uint64_t left_out() const { return stacks_.left_out(); }

 private:
  std::vector<events::ThreadStack> from_outside_;
  events::ThreadStacks stacks_;
  nettrace::Reader reader_{stacks_};
};

void print_stack(const events::ThreadStack& stack, bool first) {
  if (!first) fmt::print("\n");
  print(stdout, "Thread {}{}{}\n", stack.thread, stack.name.empty() ? "" : " ", stack.name);
  if (stack.managed == false) print(stdout, "    [native code, or waiting]\n");
  for (const std::string& frame : stack.frames) print(stdout, "    {}\n", frame);
}

void print_stacks(const events::EachStack& stacks) {
  bool first = true;
  stacks([&first](const events::ThreadStack& stack) { print_stack(stack, std::exchange(first, false)); });
}

}  // namespace

int stacks(const config::RecordingSettings& settings) {
  config::RecordingSettings brief = settings;
  brief.duration = settings.duration.value_or(router::kStacksTime);
  transport::Loop loop;
  StackSink sink;
  const int code = record(brief, sink, loop, Recorder::Progress::hidden);
  if (code != kSuccess) return code;
  const events::EachStack stacks = [&sink](const auto& take) { sink.each(take); };
  if (settings.format == "json") {
    events::write_json(stacks, [](std::string_view piece) { fmt::print("{}", piece); });
  } else {
    print_stacks(stacks);
  }
  if (sink.was_silent()) print_message("the stacks are seen from outside: methods of .NET have no names");
  if (sink.left_out() > 0)
    print_message(fmt::format(
        "{} samples are left out: there are more threads, or longer stacks, than are kept", sink.left_out()));
  return kSuccess;
}

}  // namespace farport::cli
