// farport counters: shows an application's counters live.
#include <csignal>
#include <optional>

#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/output/counter_screen.hpp"
#include "cli/output/output.hpp"
#include "cli/output/recorder.hpp"
#include "cli/setup/helpers.hpp"
#include "cli/terminal/terminal_keys.hpp"
#include "config/resolve.hpp"
#include "router/readers/answers.hpp"
#include "router/readers/reader_frames.hpp"
#include "transport/child_process.hpp"
#include "transport/task_set.hpp"
#include "transport/timer.hpp"

namespace farport::cli {
namespace {

constexpr transport::Milliseconds kUntilDrawn{20};

/// The requested session depends on the runtime.
class CounterSink : public EventLines {
 public:
  CounterSink(transport::Loop& loop, const router::ReaderProcess& readers,
              const config::CountersSettings& settings, const router::CounterSelection& selection)
      : EventLines(loop, readers, settings, {}), settings_(settings), selection_(selection) {}

  Result<ipc::CollectTracing> prepare(const router::Runtime& runtime) override {
    RETURN_IF_ERROR(EventLines::prepare(runtime));
    return selection_.wanted(runtime.version,
                             {settings_.interval, settings_.most_series, settings_.most_histograms});
  }
  /// Values come as each interval ends, so there is no rest to wait for.
  bool wants_rest() const override { return false; }

 private:
  const config::CountersSettings& settings_;
  const router::CounterSelection& selection_;
};

/// The same for a table on a terminal that keys scroll.
class CounterScreenSink final : public CounterSink {
 public:
  CounterScreenSink(transport::Loop& loop, const router::ReaderProcess& readers,
                    const config::CountersSettings& settings, const router::CounterSelection& selection,
                    CounterScreen& screen)
      : CounterSink(loop, readers, settings, selection),
        loop_(loop),
        screen_(screen),
        continued_(loop, {SIGCONT}, [this](int) { continue_keys(); }),
        reading_(loop),
        drawing_(loop) {}

  void begin(router::SessionManager& /*sessions*/) override {
    // Not earlier: until now commands may ask for a password on the terminal.
    keys_.emplace(loop_);
    reading_.spawn(keys_->read([this](char key) { screen_.take_key(key); }));
  }

 private:
  void take_part(const router::Reading::Frame& part) override {
    const auto measurement = router::decode_measurement(part.text);
    if (!measurement) return;
    screen_.take(*measurement);
    if (drawing_.size() == 0) drawing_.spawn(draw_soon());
  }
  /// Waits a little, since values come in groups.
  transport::Task<void> draw_soon() {
    co_await transport::sleep(loop_, kUntilDrawn);
    screen_.draw();
  }
  void continue_keys() {
    if (keys_) keys_->continued();
  }

  transport::Loop& loop_;
  CounterScreen& screen_;
  std::optional<TerminalKeys> keys_;
  transport::SignalWatch continued_;
  transport::TaskSet reading_;
  transport::TaskSet drawing_;
};

int counters(const config::CountersSettings& settings) {
  ASSIGN_OR_REPORT(auto selection, router::CounterSelection::parse(settings.counters), kUsage);
  const double interval = std::chrono::duration<double>(settings.interval).count();
  const bool draws = settings.format.empty() && settings.output.empty() && can_draw_on(STDOUT_FILENO);
  const auto readers = start_readers(settings.remote, [&](const auto&, auto& from, auto& to) -> Result<void> {
    const auto values = make_counter_lines(settings.format, selection, interval);
    Result<void> told =
        draws ? router::tell_measurements(*values, from, to) : router::make_lines(*values, from, to);
    if (told && values->is_refused())
      return fail("read", "the counters", "the runtime reports none of the requested counters");
    return told;
  });
  if (!readers) return report(readers.error());
  if (draws) {
    // Made before record() watches signals.
    CounterScreen screen(interval);
    transport::Loop loop;
    CounterScreenSink sink(loop, *readers, settings, selection, screen);
    return record(settings, sink, loop, Recorder::Progress::hidden);
  }
  transport::Loop loop;
  CounterSink sink(loop, *readers, settings, selection);
  return record(settings, sink, loop, Recorder::Progress::hidden);
}

constexpr const char* kCountersAbout =
    "Shows a remote application's counters, as dotnet-counters does: those of meters and of\n"
    "EventCounters. Names are the same: System.Runtime, Orders[orders-priced,queue], or\n"
    "EventCounters\\Orders for the EventSource alone. Prints a table on a terminal, otherwise a line for\n"
    "each value.";
constexpr const char* kCountersExamples = R"(Examples:
  farport counters orders.example:9000
  farport counters prod-orders/orders --counters 'Orders,System.Runtime[dotnet.gc.pause.time]'
  farport counters podman://orders --format csv -o orders.csv --duration 5m)";

RunCommand add_counters_options(CLI::App& options, config::Flags& flags) {
  const auto into = std::make_shared<config::CountersSettings>();
  add_target(options, flags);
  add_list(
      options, "--counters", into->counters,
      "Meters and EventSources, in dotnet-counters' syntax; may be repeated [System.Runtime and ASP.NET's]",
      "NAME[INSTRUMENTS]");
  options
      .add_option("--refresh-interval", flags.interval,
                  "Interval at which the application reports its counters [1s]")
      ->type_name("TIME");
  options
      .add_option("--max-time-series", into->most_series, "Maximum number of time series of meters [1000]")
      ->type_name("COUNT")
      ->check(CLI::Range(1, 1'000'000));
  options.add_option("--max-histograms", into->most_histograms, "Maximum number of histograms [20]")
      ->type_name("COUNT")
      ->check(CLI::Range(1, 1'000'000));
  add_format(options, flags.format,
             "Output format: text, csv or json (one object per line) [table on a terminal, else text]",
             {"text", "csv", "json"});
  add_output(options, flags, kInPlaceOfOutput);
  add_duration(options, flags, kUntilStopped);

  return [&flags, into] { return run_with(config::resolve_counters(flags, *into), counters); };
}

}  // namespace

const Command kCounters{"counters", "Show a remote application's counters, live", kCountersAbout,
                        kCountersExamples, add_counters_options};

}  // namespace farport::cli
