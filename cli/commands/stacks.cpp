// farport stacks: shows what each thread of a runtime is doing now.
#include <algorithm>
#include <functional>
#include <map>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/output/output.hpp"
#include "cli/output/recorder.hpp"
#include "cli/setup/helpers.hpp"
#include "cli/terminal/table.hpp"
#include "config/resolve.hpp"
#include "events/lines.hpp"
#include "router/collect/cpu_profile.hpp"
#include "router/readers/answers.hpp"
#include "router/recordings/recordings.hpp"
#include "transport/timer.hpp"

namespace farport::cli {
namespace {

/// Parameters for sampling threads from outside: all of them, of which those that compute have no stack then;
/// and these alone, by the kernel.
constexpr router::CpuSampling kLook{20, transport::Milliseconds(1000), true};
constexpr router::CpuSampling kLookAtRunning{99, transport::Milliseconds(1000), false};
constexpr transport::Milliseconds kLooks{200};

std::string name_of(const profile::Frame& frame) {
  const bool in_file =
      !frame.name.empty() && frame.kind != profile::FrameKind::kernel && !frame.module.empty();
  return in_file ? frame.module + "!" + frame.name : profile::label_of(frame);
}

/// The last stack of each thread.
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

bool is_running(const events::ThreadStack& stack) {
  return stack.frames.size() == 1 && stack.frames.front() == router::kRunning;
}

/// Samples the threads from outside for a moment.
transport::Task<Result<std::vector<events::ThreadStack>>> look(router::SessionManager& sessions,
                                                               std::string runtime_id,
                                                               router::CpuSampling sampling,
                                                               std::vector<std::string>& notes) {
  router::CpuProfile looked(sessions, runtime_id, sampling);
  CO_RETURN_IF_ERROR(co_await looked.begin());
  // A thread that moves during one sample is caught by the next.
  co_await transport::sleep(sessions.loop(), kLooks);
  CO_RETURN_IF_ERROR(co_await looked.stop());
  std::function<void(std::size_t)> came = [](std::size_t) {};
  CO_RETURN_IF_ERROR(co_await looked.receive(std::move(came)));
  profile::Profile threads;
  looked.samples().add_to(threads, {});
  notes = looked.samples().notes();
  co_return last_stacks(threads);
}

std::string stack_text(const events::ThreadStack& stack) {
  std::string text =
      fmt::format("Thread {}{}{}\n", stack.thread, stack.name.empty() ? "" : " ", escape(stack.name));
  if (stack.managed == false) text += "    [native code, or waiting]\n";
  for (const std::string& frame : stack.frames) text += "    " + escape(frame) + "\n";
  return text;
}

std::string text_of(const events::EachStack& stacks, bool json) {
  std::string text;
  if (json) {
    events::write_json(stacks, [&text](std::string_view piece) { text += piece; });
    return text;
  }
  stacks(
      [&text](const events::ThreadStack& stack) { text += (text.empty() ? "" : "\n") + stack_text(stack); });
  return text;
}

/// The reader's output, made at the end of the recording.
class StackLines final : public events::EventFormatter {
 public:
  explicit StackLines(bool json) : json_(json) {}

  void on_event(const nettrace::Event& event) override { stacks_.on_event(event); }
  Result<std::string> take_end() override {
    ended_ = true;
    return text_of([this](const auto& take) { stacks_.each(take); }, json_);
  }
  std::vector<std::string> take_notices() override {
    if (!ended_ || stacks_.left_out() == 0) return {};
    return {fmt::format("{} samples were dropped: too many threads, or stacks too deep", stacks_.left_out())};
  }

 private:
  bool json_;
  events::ThreadStacks stacks_;
  bool ended_ = false;
};

class StackSink final : public EventLines {
 public:
  StackSink(transport::Loop& loop, const router::ReaderProcess& readers,
            const config::RecordingSettings& settings)
      : EventLines(loop, readers, settings, router::wanted_samples()), json_(settings.format == "json") {}

  [[nodiscard]] Patience::Work work() const override { return Patience::Work::stacks; }
  /// Incomplete stacks are not shown.
  transport::Task<void> broke_off() override { co_return; }
  transport::Task<Result<void>> run_fallback(router::SessionManager& sessions,
                                             std::string runtime_id) override {
    CO_ASSIGN_OR_RETURN(auto stacks, co_await look(sessions, runtime_id, kLook, notes_));
    if (stacks.empty()) co_return fail("inspect", "the threads", "no thread could be sampled");
    if (std::ranges::any_of(stacks, is_running)) co_await fill_in(sessions, runtime_id, stacks);
    from_outside_ = text_of([&stacks](const auto& take) { std::ranges::for_each(stacks, take); }, json_);
    co_return Result<void>();
  }
  Result<ipc::CollectTracing> prepare(const router::Runtime& runtime) override {
    native_ = runtime.native;
    return EventLines::prepare(runtime);
  }
  /// NativeAOT names no methods, and in .NET 8 and 9 knows no stacks: its program's symbols have the names.
  [[nodiscard]] bool needs_no_answer(const router::Runtime& runtime) const override { return runtime.native; }

  /// The stacks sampled from outside; empty if the runtime has answered.
  [[nodiscard]] std::string from_outside() const { return any() ? std::string() : from_outside_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] bool native() const { return native_; }

 private:
  /// Has the kernel sample the threads that compute. Where it may not, they stay as they are.
  static transport::Task<void> fill_in(router::SessionManager& sessions, std::string runtime_id,
                                       std::vector<events::ThreadStack>& stacks) {
    std::vector<std::string> notes;
    const auto computing = co_await look(sessions, std::move(runtime_id), kLookAtRunning, notes);
    if (!computing) co_return;
    for (events::ThreadStack& stack : stacks) {
      const auto found = std::ranges::find(*computing, stack.thread, &events::ThreadStack::thread);
      if (is_running(stack) && found != computing->end()) stack.frames = found->frames;
    }
  }

  bool json_;
  bool native_ = false;
  std::vector<std::string> notes_;
  std::string from_outside_;
};

int stacks(const config::RecordingSettings& settings) {
  config::RecordingSettings brief = settings;
  brief.duration = settings.duration.value_or(router::kStacksTime);
  const auto readers = start_readers(settings.remote, [&settings](const auto&, auto& from, auto& to) {
    StackLines lines(settings.format == "json");
    return router::make_lines(lines, from, to);
  });
  if (!readers) return report(readers.error());
  transport::Loop loop;
  StackSink sink(loop, *readers, brief);
  const int code = record(brief, sink, loop, Recorder::Progress::hidden);
  const std::string from_outside = sink.from_outside();
  if (code != kSuccess) return code;
  if (from_outside.empty() && !sink.any())
    return report(Error{"show", "the stacks", "the runtime reports none",
                        sink.native() ? "its agent must be able to take a profile: see farport doctor" : ""});
  if (from_outside.empty()) return kSuccess;
  fmt::print("{}", from_outside);
  print_messages(sink.notes());
  if (!sink.native())
    print_message("the stacks were sampled from outside the process: methods of .NET have no names");
  return kSuccess;
}

constexpr const char* kStacksAbout =
    "Shows the stack of each thread of a remote runtime, innermost call first, as dotnet-stack does. If\n"
    "the runtime does not answer for five seconds, its threads are sampled from outside the process, even\n"
    "if it hangs.";
constexpr const char* kStacksExamples = R"(Examples:
  farport stacks orders.example:9000
  farport stacks podman://orders --format json)";

RunCommand add_stacks_options(CLI::App& options, config::Flags& flags) {
  add_target(options, flags);
  add_format(options, flags.format, "Output format: text or json [text]", {"text", "json"});

  return [&flags] { return run_with(config::resolve_recording(flags, "stacks"), stacks); };
}

}  // namespace

const Command kStacks{"stacks", "Show the stack of each thread of a remote runtime", kStacksAbout,
                      kStacksExamples, add_stacks_options};

}  // namespace farport::cli
