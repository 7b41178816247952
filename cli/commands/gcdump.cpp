// farport gcdump: shows the contents of an application's heap.
#include <memory>
#include <string>

#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "cli/commands/keep.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/output/heap_output.hpp"
#include "cli/output/output.hpp"
#include "cli/output/recorder.hpp"
#include "cli/setup/helpers.hpp"
#include "cli/terminal/table.hpp"
#include "config/resolve.hpp"
#include "config/settings.hpp"

namespace farport::cli {
namespace {

int gcdump(const config::GcdumpSettings& settings) {
  if (settings.keep)
    return keep(settings.remote, settings.runtime, settings.session,
                {"gcdump", {{"format", "gcdump"}, {"seconds", in_seconds(settings.patience.limit)}}});
  const auto file = open_heap_output(settings.output, settings.force);
  if (!file) return report_output(file.error());
  const HeapForm form{settings.output, settings.top, settings.format == "json",
                      "give it more time with --timeout"};
  const auto readers =
      start_readers(settings.remote, heap_reader_work(form, terminal_size(STDOUT_FILENO).columns));
  if (!readers) return report(readers.error());
  transport::Loop loop;
  HeapSink sink(loop, *readers, file->get());
  const int code = record(settings, sink, loop, Recorder::Progress::shown);
  if (code != kSuccess || !sink.made_file()) return code;
  const Result<void> kept = keep_output(file->get());
  return kept ? kSuccess : report(kept.error());
}

constexpr const char* kGcdumpAbout =
    "Triggers a full garbage collection in a remote runtime and reports the live objects: number and\n"
    "bytes of each type. The application is paused meanwhile. A .gcdump file has every object and its\n"
    "references, for dotnet-gcdump, PerfView and Visual Studio.";
constexpr const char* kGcdumpExamples = R"(Examples:
  farport gcdump orders.example:9000
  farport gcdump prod-orders/orders -o orders.gcdump
  farport gcdump podman://orders --format json | jq '.types[0]')";

RunCommand add_gcdump_options(CLI::App& options, config::Flags& flags) {
  const auto into = std::make_shared<config::GcdumpSettings>();
  add_target(options, flags);
  add_output(options, flags,
             "Output file; its extension chooses the format: .gcdump (objects), .json (types) [table on "
             "standard output]");
  options.add_option("--top", into->top, "Number of types to show, largest first [25; all in a file]")
      ->type_name("ROWS")
      ->check(CLI::Range(1, 1'000'000));
  add_format(options, flags.format, "Output format: text or json [text]", {"text", "json"});
  add_keep(options, flags);

  return [&flags, into] { return run_with(config::resolve_gcdump(flags, *into), gcdump); };
}

}  // namespace

const Command kGcdump{"gcdump", "Show the objects in a remote application's managed heap", kGcdumpAbout,
                      kGcdumpExamples, add_gcdump_options};

}  // namespace farport::cli
