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

  /// What has come, once nothing more does.
  [[nodiscard]] std::vector<events::ThreadStack> stacks() const { return stacks_.take(); }

 private:
  events::ThreadStacks stacks_;
  nettrace::Reader reader_{stacks_};
};

void print_stacks(const std::vector<events::ThreadStack>& stacks) {
  bool first = true;
  for (const events::ThreadStack& stack : stacks) {
    if (!std::exchange(first, false)) fmt::print("\n");
    print(stdout, "Thread {}{}{}\n", stack.thread, stack.name.empty() ? "" : " ", stack.name);
    if (!stack.managed) print(stdout, "    [native code, or waiting]\n");
    for (const std::string& frame : stack.frames) print(stdout, "    {}\n", frame);
  }
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
    fmt::print("{}", events::to_json(sink.stacks()));
  } else {
    print_stacks(sink.stacks());
  }
  return kSuccess;
}

}  // namespace farport::cli
