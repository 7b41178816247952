// farport counters: the counters of a remote application, live.
#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/counter_lines.hpp"
#include "cli/counter_screen.hpp"
#include "cli/event_lines.hpp"
#include "cli/recorder.hpp"

namespace farport::cli {
namespace {

/// What it asks for depends on the runtime.
class CounterSink final : public EventLines {
 public:
  CounterSink(transport::Loop& loop, const config::CountersSettings& settings,
              const router::CounterSelection& selection, events::LineMaker& lines)
      : EventLines(loop, settings, {}, lines), settings_(settings), selection_(selection) {}

  Result<ipc::CollectTracing> prepare(const router::Runtime& runtime) override {
    auto opened = EventLines::prepare(runtime);
    if (!opened) return opened;
    return selection_.wanted(runtime.version,
                             {settings_.interval, settings_.most_series, settings_.most_histograms});
  }

 private:
  const config::CountersSettings& settings_;
  const router::CounterSelection& selection_;
};

}  // namespace

int counters(const config::CountersSettings& settings) {
  auto selection = router::CounterSelection::parse(settings.counters);
  if (!selection) return report(selection.error(), kUsage);
  const double interval = std::chrono::duration<double>(settings.interval).count();
  const bool draws = settings.format.empty() && settings.output.empty() && can_draw_on(STDOUT_FILENO);
  std::unique_ptr<events::LineMaker> lines;
  if (draws) {
    lines = std::make_unique<CounterScreen>(*selection, interval);
  } else {
    lines = make_counter_lines(settings.format, *selection, interval);
  }
  transport::Loop loop;
  CounterSink sink(loop, settings, *selection, *lines);
  return record(settings, sink, loop, Recorder::Progress::hidden);
}

}  // namespace farport::cli
