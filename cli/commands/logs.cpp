// farport logs: shows what an application logs.
#include <algorithm>

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/output/output.hpp"
#include "cli/output/recorder.hpp"
#include "cli/setup/helpers.hpp"
#include "cli/terminal/table.hpp"
#include "config/resolve.hpp"
#include "events/lines.hpp"
#include "router/readers/answers.hpp"
#include "router/recordings/recordings.hpp"
#include "transport/task_set.hpp"
#include "transport/timer.hpp"

namespace farport::cli {
namespace {

/// Time without a log entry after which a hint is shown.
constexpr transport::Milliseconds kUntilHint{5000};

/// The text's lines, indented below their entry.
std::string lines_below(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines += "    " + escape(line) + "\n";
  }
  return lines;
}

/// "12:00:00.123 Warning Orders.Pricing[7] no price for 12". Further lines of the message and an exception
/// follow below.
std::string log_text(const events::LogEntry& entry) {
  std::string text = fmt::format("{} {:<11} {}", clock_of(entry.time), events::to_string(entry.level),
                                 escape(entry.category));
  if (entry.event_id != 0) text += fmt::format("[{}]", entry.event_id);
  const std::string_view message = entry.message;
  const std::size_t end = std::min(message.find('\n'), message.size());
  const std::string_view first = message.substr(0, end);
  text += " " + escape(first.ends_with('\r') ? first.substr(0, first.size() - 1) : first) + "\n";
  return text + lines_below(message.substr(std::min(end + 1, message.size()))) +
         lines_below(events::exception_text(entry));
}

std::string log_json(const events::LogEntry& entry) {
  return events::to_json(entry) + "\n";
}

/// Prints a hint if no entries come.
class LogSink final : public EventLines {
 public:
  LogSink(transport::Loop& loop, const router::ReaderProcess& readers, const config::LogsSettings& settings,
          ipc::CollectTracing wanted)
      : EventLines(loop, readers, settings, std::move(wanted)), loop_(loop), hinting_(loop) {}

  void begin(router::SessionManager& /*sessions*/) override { hinting_.spawn(hint()); }

 private:
  transport::Task<void> hint() {
    co_await transport::sleep(loop_, kUntilHint);
    if (any()) co_return;
    print_message(
        "no log entries so far. The application needs the EventSource logger: CreateSlimBuilder() omits it, "
        "and builder.Logging.AddEventSourceLogger() adds it. --level Trace shows everything that it logs");
  }

  transport::Loop& loop_;
  transport::TaskSet hinting_;
};

int logs(const config::LogsSettings& settings) {
  ASSIGN_OR_REPORT(auto wanted, router::wanted_logs(settings.level, settings.categories), kUsage);
  const auto readers = start_readers(settings.remote, [&settings](const auto&, auto& from, auto& to) {
    events::LogLines lines(settings.format == "json" ? log_json : log_text);
    return router::make_lines(lines, from, to);
  });
  if (!readers) return report(readers.error());
  transport::Loop loop;
  LogSink sink(loop, *readers, settings, std::move(wanted));
  return record(settings, sink, loop, Recorder::Progress::hidden);
}

constexpr const char* kLogsAbout =
    "Shows the log entries of a remote application (Microsoft.Extensions.Logging), without a restart and\n"
    "regardless of its own log destinations. Without --level and --category, the application's own\n"
    "filters apply.";
constexpr const char* kLogsExamples = R"(Examples:
  farport logs orders.example:9000
  farport logs prod-orders/orders --level Debug --category 'Orders.*'
  farport logs podman://orders --format json | jq .message)";

RunCommand add_logs_options(CLI::App& options, config::Flags& flags) {
  const auto into = std::make_shared<config::LogsSettings>();
  add_target(options, flags);
  options
      .add_option("--level", into->level,
                  "Lowest level: Trace, Debug, Information, Warning, Error or Critical [the application's "
                  "own filters]")
      ->type_name("LEVEL");
  add_list(options, "--category", into->categories,
           "Show only these categories, such as 'Orders.*' or 'Orders.*:Debug'; may be repeated",
           "CATEGORY[:LEVEL]");
  add_format(options, flags.format, "Output format: text or json (one object per line) [text]",
             {"text", "json"});
  add_output(options, flags, kInPlaceOfOutput);
  add_duration(options, flags, kUntilStopped);

  return [&flags, into] { return run_with(config::resolve_logs(flags, *into), logs); };
}

}  // namespace

const Command kLogs{"logs", "Show a remote application's log entries, live", kLogsAbout, kLogsExamples,
                    add_logs_options};

}  // namespace farport::cli
