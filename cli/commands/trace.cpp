// farport trace: records a remote runtime to a file.
#include <CLI/CLI.hpp>

#include "cli/commands/record_trace.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "config/resolve.hpp"
#include "router/wanted/providers.hpp"

namespace farport::cli {
namespace {

int trace(const config::TraceSettings& settings) {
  auto wanted =
      router::recording_of(settings.profiles, settings.providers, settings.rundown, settings.buffer_mb);
  if (!wanted) return report(wanted.error(), kUsage);
  const config::StoppingEventSettings& stopping = settings.stopping_event;
  auto filter = events::EventFilter::parse(stopping.provider, stopping.event, stopping.payload);
  if (!filter) return report(filter.error(), kUsage);
  return record_trace(settings, std::move(*wanted), *filter);
}

constexpr const char* kTraceAbout =
    "Records what dotnet-trace collect would, into the same kind of file, where there is no .NET. Profiles "
    "and\n"
    "providers are those of dotnet-trace; without any, dotnet-common and dotnet-sampled-thread-time. Ctrl-C\n"
    "ends it well: the runtime names its methods first. Prints the path.";
constexpr const char* kTraceExamples = R"(Examples:
  farport trace orders.example:9000 --duration 30s
  farport trace prod-orders/orders --profile gc-collect -o orders.nettrace
  farport trace podman://orders --providers 'Orders:0x1:4'
  farport trace ssh://ops@web-3//orders --profile gc-verbose \
      --providers Microsoft-AspNetCore-Server-Kestrel
  farport trace orders.example:9000 --profile gc-verbose \
      --stopping-event-provider-name Orders --stopping-event-event-name PricedBadly)";

RunCommand add_trace_options(CLI::App& options, config::Flags& flags) {
  add_target(options, flags);
  add_output(options, flags, "Where the recording goes; NAME_TIME.nettrace where none is given");
  add_list(options, "--profile", flags.profiles,
           "dotnet-common, dotnet-sampled-thread-time, gc-verbose, gc-collect or database; may be repeated",
           "NAME[,NAME]");
  add_list(options, "--providers", flags.providers, "Events by their provider; may be repeated",
           "NAME[:KEYWORDS[:LEVEL[:ARGUMENTS]]][,...]");
  add_duration(options, flags, kUntilStopped);
  options
      .add_option("--rundown", flags.rundown,
                  "Whether the runtime names all methods at the end: true or false [as the profiles have it]")
      ->type_name("BOOL");
  options.add_flag("--no-resume", flags.no_resume,
                   "Do not resume a runtime that is suspended at its start: something else has to");
  options.add_option("--buffersize", flags.buffer_mb, "The runtime's buffer, in MB [256]")
      ->type_name("MB")
      ->check(CLI::Range(1, 65536));
  options
      .add_option("--stopping-event-provider-name", flags.stopping_provider,
                  "End the recording when an event of this provider comes")
      ->type_name("NAME");
  options
      .add_option("--stopping-event-event-name", flags.stopping_event,
                  "Only at this event of it: a name, or a number")
      ->type_name("EVENT");
  options
      .add_option("--stopping-event-payload-filter", flags.stopping_payload,
                  "Only where these fields have these values")
      ->type_name("FIELD:VALUE,...");

  return [&flags] { return run_with(config::resolve_trace(flags), trace); };
}

}  // namespace

const Command kTrace{"trace", "Records a remote runtime's events, without any .NET tool", kTraceAbout,
                     kTraceExamples, add_trace_options};

}  // namespace farport::cli
