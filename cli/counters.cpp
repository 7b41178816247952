// farport counters: the counters of a remote application, live.
#include <csignal>
#include <optional>

#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/counter_lines.hpp"
#include "cli/counter_screen.hpp"
#include "cli/event_lines.hpp"
#include "cli/recorder.hpp"
#include "cli/terminal_keys.hpp"
#include "transport/signals.hpp"
#include "transport/task_set.hpp"

namespace farport::cli {
namespace {

/// What it asks for depends on the runtime.
class CounterSink : public EventLines {
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
  /// Values come when they are due.
  bool wants_rest() const override { return false; }

 private:
  const config::CountersSettings& settings_;
  const router::CounterSelection& selection_;
};

/// The same on a terminal, where keys scroll.
class CounterScreenSink final : public CounterSink {
 public:
  CounterScreenSink(transport::Loop& loop, const config::CountersSettings& settings,
                    const router::CounterSelection& selection, CounterScreen& screen)
      : CounterSink(loop, settings, selection, screen),
        loop_(loop),
        screen_(screen),
        continued_(loop, {SIGCONT}, [this](int) { continue_keys(); }),
        reading_(loop) {}

  void begin(router::SessionManager& /*sessions*/) override {
    // Not before: until then the terminal is for those who ask for a password.
    keys_.emplace(loop_);
    reading_.spawn(keys_->read([this](char key) { screen_.take_key(key); }));
  }

 private:
  void continue_keys() {
    if (keys_) keys_->continued();
  }

  transport::Loop& loop_;
  CounterScreen& screen_;
  std::optional<TerminalKeys> keys_;
  transport::SignalWatch continued_;
  transport::TaskSet reading_;
};

/// Records into it. What a runtime refuses has been said by then, and is no success.
int record_counters(const config::CountersSettings& settings, CounterSink& sink, transport::Loop& loop,
                    const events::MeasurementReader& values) {
  const int code = record(settings, sink, loop, Recorder::Progress::hidden);
  return code == kSuccess && values.is_refused() ? kFailure : code;
}

}  // namespace

int counters(const config::CountersSettings& settings) {
  auto selection = router::CounterSelection::parse(settings.counters);
  if (!selection) return report(selection.error(), kUsage);
  const double interval = std::chrono::duration<double>(settings.interval).count();
  const bool draws = settings.format.empty() && settings.output.empty() && can_draw_on(STDOUT_FILENO);
  if (draws) {
    // Before signals are watched, as by the loop's.
    CounterScreen screen(*selection, interval);
    transport::Loop loop;
    CounterScreenSink sink(loop, settings, *selection, screen);
    return record_counters(settings, sink, loop, screen);
  }
  const auto lines = make_counter_lines(settings.format, *selection, interval);
  transport::Loop loop;
  CounterSink sink(loop, settings, *selection, *lines);
  return record_counters(settings, sink, loop, *lines);
}

}  // namespace farport::cli
