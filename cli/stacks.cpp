// farport stacks: what each thread of a remote runtime is doing now.
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/recorder.hpp"
#include "cli/text.hpp"
#include "events/json.hpp"
#include "nettrace/reader.hpp"
#include "router/wanted/recordings.hpp"

namespace farport::cli {
namespace {

class StackSink final : public RecordingSink {
 public:
  Result<ipc::CollectTracing> prepare(const router::Runtime& /*runtime*/) override {
    return router::wanted_samples();
  }
  transport::Task<Result<void>> take(std::shared_ptr<const Piece> piece) override {
    co_return reader_.feed(std::span(piece->bytes).first(piece->size));
  }

  [[nodiscard]] const events::ThreadStacks& stacks() const { return stacks_; }

 private:
  events::ThreadStacks stacks_;
  nettrace::Reader reader_{stacks_};
};

void print_stack(const events::ThreadStack& stack, bool first) {
  if (!first) fmt::print("\n");
  print(stdout, "Thread {}{}{}\n", stack.thread, stack.name.empty() ? "" : " ", stack.name);
  if (!stack.managed) print(stdout, "    [native code, or waiting]\n");
  for (const std::string& frame : stack.frames) print(stdout, "    {}\n", frame);
}

void print_stacks(const events::ThreadStacks& stacks) {
  bool first = true;
  stacks.each(
      [&first](const events::ThreadStack& stack) { print_stack(stack, std::exchange(first, false)); });
}

}  // namespace

int stacks(const config::RecordingSettings& settings) {
  config::RecordingSettings brief = settings;
  brief.duration = settings.duration.value_or(router::kStacksTime);
  transport::Loop loop;
  StackSink sink;
  const int code = record(brief, sink, loop, Recorder::Progress::hidden);
  if (code != kSuccess) return code;
  if (settings.format == "json") {
    events::write_json(sink.stacks(), [](std::string_view piece) { fmt::print("{}", piece); });
  } else {
    print_stacks(sink.stacks());
  }
  if (sink.stacks().left_out() > 0)
    print_message(
        fmt::format("{} samples are left out: there are more threads, or longer stacks, than are kept",
                    sink.stacks().left_out()));
  return kSuccess;
}

}  // namespace farport::cli
