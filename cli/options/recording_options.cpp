#include "cli/options/help.hpp"
#include "cli/options/help_text.hpp"
#include "cli/options/options.hpp"
#include "cli/output/profile_output.hpp"

namespace farport::cli {
namespace {

/// `about` and `examples` are for the command's own help.
struct CommandWords {
  const char* name;
  const char* summary;
  const char* about;
  const char* examples;
};

CLI::App* add_targeted(CLI::App& app, config::Flags& flags, const CommandWords& words) {
  CLI::App* command = add_command(app, words.name, words.summary, words.about, words.examples);
  add_target(command, flags);
  return command;
}

void add_list(CLI::App* command, const char* name, std::vector<std::string>& into, const char* help,
              const char* type) {
  command->add_option(name, into, help)->type_name(type)->allow_extra_args(false);
}

void add_output(CLI::App* command, config::Flags& flags, const char* help) {
  command->add_option("-o,--output", flags.output, help)->type_name("FILE");
  command->add_flag("--force", flags.force, "Replace the file if it is there already");
}

void add_duration(CLI::App* command, config::Flags& flags, const char* help) {
  command->add_option("--duration", flags.duration, help)->type_name("TIME");
}

constexpr const char* kUntilStopped = "How long, such as 30s or 00:00:30 [until Ctrl-C]";
constexpr const char* kInPlaceOfOutput = "A file in place of standard output";

CommandChoice add_trace(CLI::App& app, config::Flags& flags) {
  CLI::App* trace = add_targeted(
      app, flags,
      {"trace", "Records a remote runtime's events, without any .NET tool", kTraceAbout, kTraceExamples});
  add_output(trace, flags, "Where the recording goes; NAME_TIME.nettrace where none is given");
  add_list(trace, "--profile", flags.profiles,
           "dotnet-common, dotnet-sampled-thread-time, gc-verbose, gc-collect or database; may be repeated",
           "NAME[,NAME]");
  add_list(trace, "--providers", flags.providers, "Events by their provider; may be repeated",
           "NAME[:KEYWORDS[:LEVEL[:ARGUMENTS]]][,...]");
  add_duration(trace, flags, kUntilStopped);
  trace
      ->add_option(
          "--rundown", flags.rundown,
          "Whether the runtime names all methods at the end: true or false [as the profiles have it]")
      ->type_name("BOOL");
  trace->add_flag("--no-resume", flags.no_resume,
                  "Do not resume a runtime that is suspended at its start: something else has to");
  trace->add_option("--buffersize", flags.buffer_mb, "The runtime's buffer, in MB [256]")
      ->type_name("MB")
      ->check(CLI::Range(1, 65536));
  trace
      ->add_option("--stopping-event-provider-name", flags.stopping_provider,
                   "End the recording when an event of this provider comes")
      ->type_name("NAME");
  trace
      ->add_option("--stopping-event-event-name", flags.stopping_event,
                   "Only at this event of it: a name, or a number")
      ->type_name("EVENT");
  trace
      ->add_option("--stopping-event-payload-filter", flags.stopping_payload,
                   "Only where these fields have these values")
      ->type_name("FIELD:VALUE,...");
  return {trace, Command::trace};
}

CommandChoice add_counters(CLI::App& app, config::Flags& flags) {
  CLI::App* counters = add_targeted(
      app, flags,
      {"counters", "Shows a remote application's counters, live", kCountersAbout, kCountersExamples});
  add_list(
      counters, "--counters", flags.counters,
      "Meters and EventSources, as dotnet-counters has them; may be repeated [System.Runtime and ASP.NET's]",
      "NAME[INSTRUMENTS]");
  counters->add_option("--refresh-interval", flags.interval, "How often the application tells them [1s]")
      ->type_name("TIME");
  counters->add_option("--max-time-series", flags.most_series, "How many series of meters at most [1000]")
      ->type_name("COUNT")
      ->check(CLI::Range(1, 1'000'000));
  counters->add_option("--max-histograms", flags.most_histograms, "How many histograms at most [20]")
      ->type_name("COUNT")
      ->check(CLI::Range(1, 1'000'000));
  add_format(counters, flags.format, "text, csv or json (one object a line) [a table on a terminal]",
             {"text", "csv", "json"});
  add_output(counters, flags, kInPlaceOfOutput);
  add_duration(counters, flags, kUntilStopped);
  return {counters, Command::counters};
}

CommandChoice add_top(CLI::App& app, config::Flags& flags) {
  CLI::App* top = add_command(app, "top", "Shows all runtimes at a glance, live", kTopAbout, kTopExamples);
  top->add_option("AGENT", flags.remotes, kAgentHelp);
  top->add_option("--refresh-interval", flags.interval, "How often the runtimes tell [1s]")
      ->type_name("TIME");
  top->add_option("--sort", flags.order,
                  "cpu, memory, heap, allocated, gc, exceptions, queue, requests or name [cpu]")
      ->type_name("COLUMN")
      ->check(CLI::IsMember(
          {"cpu", "memory", "heap", "allocated", "gc", "exceptions", "queue", "requests", "name"}));
  top->add_option("--rounds", flags.rounds, "Show it so often, and end [until q or Ctrl-C]")
      ->type_name("COUNT")
      ->check(CLI::Range(1, 1'000'000));
  add_format(top, flags.format,
             "text, or json (one object a line for each runtime) [a live table on a terminal]",
             {"text", "json"});
  return {top, Command::top};
}

CommandChoice add_logs(CLI::App& app, config::Flags& flags) {
  CLI::App* logs = add_targeted(
      app, flags, {"logs", "Shows what a remote application logs, live", kLogsAbout, kLogsExamples});
  logs->add_option(
          "--level", flags.level,
          "Trace, Debug, Information, Warning, Error or Critical [as the application's filters have it]")
      ->type_name("LEVEL");
  add_list(logs, "--category", flags.categories,
           "Only these, such as 'Orders.*' or 'Orders.*:Debug'; may be repeated", "CATEGORY[:LEVEL]");
  add_format(logs, flags.format, "text, or json (one object a line) [text]", {"text", "json"});
  add_output(logs, flags, kInPlaceOfOutput);
  add_duration(logs, flags, kUntilStopped);
  return {logs, Command::logs};
}

CommandChoice add_exceptions(CLI::App& app, config::Flags& flags) {
  CLI::App* exceptions =
      add_targeted(app, flags,
                   {"exceptions", "Shows the exceptions that a remote application throws, live",
                    kExceptionsAbout, kExceptionsExamples});
  add_format(exceptions, flags.format, "text, or json (one object a line) [text]", {"text", "json"});
  add_output(exceptions, flags, kInPlaceOfOutput);
  add_duration(exceptions, flags, kUntilStopped);
  return {exceptions, Command::exceptions};
}

CommandChoice add_stacks(CLI::App& app, config::Flags& flags) {
  CLI::App* stacks = add_targeted(
      app, flags,
      {"stacks", "Shows what each thread of a remote runtime is doing", kStacksAbout, kStacksExamples});
  add_format(stacks, flags.format, "text or json [text]", {"text", "json"});
  return {stacks, Command::stacks};
}

constexpr const char* kProfileForms =
    "A file, whose name says what it is: .html or .svg (flame graph), .speedscope.json, .pb.gz (pprof), .txt "
    "(perf script), .folded; with --wall also .nettrace [a table on a terminal, otherwise folded stacks]";

/// --top, --top=ROWS
void add_top(CLI::App* command, std::uint32_t& top) {
  command
      ->add_flag_function(
          "--top",
          [&top](std::int64_t rows) { top = rows > 1 ? static_cast<std::uint32_t>(rows) : kUsualRows; },
          "Print a table of the methods that take most; --top=ROWS [25]")
      ->type_name("ROWS");
}

CommandChoice add_profile(CLI::App& app, config::Flags& flags) {
  CLI::App* profile = add_targeted(
      app, flags,
      {"profile", "Draws where a remote application spends its time", kProfileAbout, kProfileExamples});
  add_output(profile, flags, kProfileForms);
  CLI::Option* const wall =
      profile->add_flag("--wall", flags.wall,
                        "Of all threads of .NET, whether they compute or wait: the runtime's own samples");
  profile
      ->add_option(
          "--event", flags.event,
          "cpu: what computes; wall: all threads, looked at from outside, so that one which hangs or is "
          "stopped can be looked at, too [cpu]")
      ->type_name("EVENT")
      ->check(CLI::IsMember({"cpu", "wall"}))
      ->excludes(wall);
  profile
      ->add_option("--frequency", flags.frequency,
                   "Samples of a busy thread in a second; of each one with --event wall [99]")
      ->type_name("HZ")
      ->check(CLI::Range(1, 999));
  add_top(profile, flags.top);
  add_duration(profile, flags, "How long, such as 30s or 00:00:30 [10s]");
  return {profile, Command::profile};
}

CommandChoice add_gcdump(CLI::App& app, config::Flags& flags) {
  CLI::App* gcdump = add_targeted(
      app, flags, {"gcdump", "Shows what is in a remote application's heap", kGcdumpAbout, kGcdumpExamples});
  add_output(
      gcdump, flags,
      "A file, whose name says what it is: .gcdump (objects), .json (types) [a table on standard output]");
  gcdump->add_option("--top", flags.top, "How many types, those that take most first [25; all in a file]")
      ->type_name("ROWS")
      ->check(CLI::Range(1, 1'000'000));
  add_format(gcdump, flags.format, "text or json [text]", {"text", "json"});
  return {gcdump, Command::gcdump};
}

}  // namespace

CLI::App* add_convert(CLI::App& app, config::ConvertSettings& into) {
  CLI::App* convert = add_command(app, "convert", "Makes a flame graph of a recording that is there",
                                  kConvertAbout, kConvertExamples);
  convert->add_option("FILE", into.input, "A .nettrace file with samples of stacks")->required();
  convert->add_option("-o,--output", into.output, kProfileForms)->type_name("FILE");
  convert->add_flag("--force", into.force, "Replace the file if it is there already");
  add_top(convert, into.top);
  return convert;
}

void add_target(CLI::App* command, config::Flags& flags) {
  command->add_option(
      "TARGET", flags.target,
      std::string(kAgentHelp) +
          "; with /RUNTIME behind it, a name, pid or id, where there are several (also with @HOST)");
  CLI::Option* name = command
                          ->add_option("-n,--name", flags.runtime,
                                       "The runtime's name, where TARGET is an agent that has several")
                          ->type_name("NAME");
  command->add_option("-p,--process-id", flags.runtime, "Its pid, as farport ps shows it")
      ->type_name("PID")
      ->excludes(name);
  command->add_option("--timeout", flags.timeout, "How long to wait for a runtime that does not answer [30s]")
      ->type_name("TIME");
}

std::vector<CommandChoice> add_recording_commands(CLI::App& app, CommandLine& line) {
  config::Flags& flags = line.flags;
  return {add_trace(app, flags),  add_counters(app, flags),   add_top(app, flags),
          add_logs(app, flags),   add_exceptions(app, flags), add_profile(app, flags),
          add_stacks(app, flags), add_gcdump(app, flags)};
}

}  // namespace farport::cli
