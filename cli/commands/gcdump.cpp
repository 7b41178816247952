// farport gcdump: shows the contents of an application's heap.
#include "heap/gcdump.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "cli/commands/keep.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/output/output.hpp"
#include "cli/output/reader_sink.hpp"
#include "cli/output/recorder.hpp"
#include "cli/setup/helpers.hpp"
#include "cli/terminal/table.hpp"
#include "config/resolve.hpp"
#include "config/settings.hpp"
#include "events/heap_walk.hpp"
#include "heap/heap.hpp"
#include "router/readers/answers.hpp"
#include "router/recordings/recordings.hpp"

namespace farport::cli {
namespace {

std::string heap_line(std::string_view bytes, std::string_view objects, const std::string& what,
                      std::size_t width) {
  return cut(fmt::format("{:>15}  {:>12}  {}", bytes, objects, what), width) + "\n";
}

/// A heap for people: the total, and a line for each of the `rows` largest types, at most `width` columns
/// wide; 0: no limit. Text from the runtime is escaped.
std::string heap_table(const heap::Heap& heap, std::size_t rows, std::size_t width) {
  std::string table = heap_line("BYTES", "OBJECTS", "TYPE", width);
  table +=
      heap_line(grouped(std::to_string(heap.bytes)), grouped(std::to_string(heap.objects)), "[all]", width);
  for (const heap::TypeId id : largest_types(heap, rows)) {
    const heap::Type& type = heap.types[id];
    const std::string module = type.module.empty() ? "" : "  [" + type.module + "]";
    table += heap_line(grouped(std::to_string(type.bytes)), grouped(std::to_string(type.objects)),
                       escape(label_of(type) + module), width);
  }
  return table;
}

constexpr std::string_view kObjectFile = ".gcdump";
constexpr std::string_view kTypeFile = ".json";
constexpr std::size_t kUsualTypes = 25;

std::size_t types_asked_for(const config::GcdumpSettings& settings, std::size_t otherwise) {
  return settings.top > 0 ? settings.top : otherwise;
}

std::string types_as_json(const heap::Heap& heap, const heap::Origin& origin,
                          const config::GcdumpSettings& settings) {
  return heap::to_json(heap, origin.process,
                       types_asked_for(settings, std::numeric_limits<std::size_t>::max()));
}

/// Whether the file should hold each object with its references.
bool wants_objects(const config::GcdumpSettings& settings) {
  return settings.output.ends_with(kObjectFile);
}

/// Creates the output file before the application is asked for anything; null for standard output. Fails if
/// the name's ending is unknown, or if the file exists or can't be created.
Result<std::unique_ptr<OutputFile>> open_output(const config::GcdumpSettings& settings) {
  const std::string& path = settings.output;
  if (path.empty()) return nullptr;
  if (!path.ends_with(kObjectFile) && !path.ends_with(kTypeFile))
    return fail("write the heap to", path, "the file name's extension gives no known format",
                "use .gcdump or .json");
  return OutputFile::create("the heap", output_path(path, {}, {}),
                            settings.force ? OutputFile::Existing::replace : OutputFile::Existing::refuse,
                            OutputFile::Named::on_commit);
}

/// The output for standard output; empty if the heap goes to a file and no table is wanted. `width`: of a
/// table, in columns.
std::string heap_lines(const heap::Heap& heap, const heap::Origin& origin,
                       const config::GcdumpSettings& settings, std::size_t width) {
  if (!settings.output.empty() && settings.top == 0) return {};
  if (settings.format == "json") return types_as_json(heap, origin, settings);
  return heap_table(heap, types_asked_for(settings, kUsualTypes), width);
}

/// Writes the file's content in pieces.
Result<void> write_heap(heap::Heap heap, const heap::Origin& origin, const config::GcdumpSettings& settings,
                        const std::function<void(std::string_view)>& to) {
  if (!wants_objects(settings)) {
    to(types_as_json(heap, origin, settings));
    return {};
  }
  return heap::write_gcdump(std::move(heap), origin, [&to](std::span<const std::byte> piece) -> Result<void> {
    to({reinterpret_cast<const char*>(piece.data()), piece.size()});
    return {};
  });
}

using KeptOfHeap = events::HeapWalk::Keep;

/// Fails if the heap's objects can't be written to a file.
Result<void> check_objects(const heap::Heap& heap, const std::string& path) {
  if (heap.graph) return {};
  return fail("write the heap to", path,
              heap.complete ? "the heap has too many objects"
                            : "the runtime dropped events for which its buffer had no room, so parts of the "
                              "heap are missing",
              "omit --output to print the count of each type anyway");
}

/// The reader's output, made once the walk is complete.
class HeapLines final : public events::EventFormatter {
 public:
  HeapLines(const config::GcdumpSettings& settings, std::size_t width, heap::Origin origin,
            router::ReaderOutput& to)
      : settings_(settings),
        width_(width),
        origin_(std::move(origin)),
        to_(to),
        walk_(wants_objects(settings) ? KeptOfHeap::objects : KeptOfHeap::types) {}

  void on_trace(const nettrace::TraceHeader& trace) override { walk_.on_trace(trace); }
  void on_event(const nettrace::Event& event) override { walk_.on_event(event); }
  void on_dropped(const nettrace::Thread& thread, std::uint32_t events) override {
    walk_.on_dropped(thread, events);
  }
  bool has_enough() const override { return walk_.has_enough(); }
  std::vector<std::string> take_notices() override { return std::exchange(gaps_, {}); }
  Result<std::string> take_end() override {
    if (!walk_.ended() && !walk_.lacks_parts())
      return fail("read the heap of", origin_.process,
                  walk_.begun() ? "the runtime did not finish reporting it in time"
                                : "the runtime does not report it",
                  walk_.begun() ? "give it more time with --timeout"
                                : "give it more time with --timeout; NativeAOT of .NET 8 never does");
    heap::Heap heap = walk_.take();
    gaps_ = heap::gaps_of(heap);
    if (wants_objects(settings_)) {
      RETURN_IF_ERROR(check_objects(heap, settings_.output));
    }
    std::string lines = heap_lines(heap, origin_, settings_, width_);
    if (settings_.output.empty()) return lines;
    RETURN_IF_ERROR(write_heap(std::move(heap), origin_, settings_, [this](std::string_view piece) {
      if (!piece.empty()) to_.write(router::ReaderFrame::file, piece);
    }));
    to_.write(router::ReaderFrame::file);
    return lines;
  }

 private:
  const config::GcdumpSettings& settings_;
  std::size_t width_;
  heap::Origin origin_;
  router::ReaderOutput& to_;
  events::HeapWalk walk_;
  std::vector<std::string> gaps_;
};

class HeapSink final : public ReaderSink {
 public:
  using ReaderSink::ReaderSink;

  Result<ipc::CollectTracing> prepare(const router::Runtime& runtime) override {
    RETURN_IF_ERROR(begin_printing(runtime.host + '\0' + runtime.name));
    return router::wanted_heap(runtime.version);
  }
};

/// Parses the text that prepare() gave to the reader.
heap::Origin origin_of(const std::string& about) {
  const std::size_t end = std::min(about.find('\0'), about.size());
  return {about.substr(0, end), about.substr(std::min(end + 1, about.size()))};
}

int gcdump(const config::GcdumpSettings& settings) {
  if (settings.keep)
    return keep(settings.remote, settings.runtime, settings.session,
                {"gcdump", {{"format", "gcdump"}, {"seconds", in_seconds(settings.patience.limit)}}});
  const auto file = open_output(settings);
  if (!file) return report_output(file.error());
  const std::size_t width = terminal_size(STDOUT_FILENO).columns;
  const auto readers =
      start_readers(settings.remote, [&settings, width](const auto& wanted, auto& from, auto& to) {
        HeapLines lines(settings, width, origin_of(wanted.text), to);
        return router::make_lines(lines, from, to);
      });
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
