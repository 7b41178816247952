#include "cli/commands/trace.hpp"

#include <optional>
#include <tuple>

#include <CLI/CLI.hpp>

#include "cli/commands/keep.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/output/output.hpp"
#include "cli/output/reader_sink.hpp"
#include "cli/output/recorder.hpp"
#include "cli/setup/helpers.hpp"
#include "cli/terminal/table.hpp"
#include "config/resolve.hpp"
#include "router/readers/answers.hpp"
#include "router/recordings/providers.hpp"
#include "transport/race.hpp"

namespace farport::cli {
namespace {

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& each : texts) all += (all.empty() ? "" : ",") + each;
  return all;
}

Wanted wanted_of_agent(const config::TraceSettings& settings) {
  Wanted wanted{"trace", {{"profile", joined(settings.profiles)}, {"providers", joined(settings.providers)}}};
  if (settings.rundown) wanted.parameters["rundown"] = *settings.rundown ? "true" : "false";
  if (settings.duration) wanted.parameters["seconds"] = in_seconds(*settings.duration);
  return wanted;
}

int trace(const config::TraceSettings& settings) {
  auto wanted =
      router::recording_of(settings.profiles, settings.providers, settings.rundown, settings.buffer_mb);
  if (!wanted) return report(wanted.error(), kUsage);
  const config::StoppingEventSettings& stopping = settings.stopping_event;
  auto filter = events::EventFilter::parse(stopping.provider, stopping.event, stopping.payload);
  if (!filter) return report(filter.error(), kUsage);
  if (settings.keep)
    return keep(settings.remote, settings.runtime, settings.session, wanted_of_agent(settings));
  return record_trace(settings, std::move(*wanted), *filter);
}

constexpr const char* kTraceAbout =
    "Records the same .nettrace file as dotnet-trace collect, without .NET on this host. Profiles and\n"
    "providers are those of dotnet-trace; the defaults are dotnet-common and dotnet-sampled-thread-time.\n"
    "Ctrl-C stops it cleanly: the runtime writes its method names (rundown) first. Prints the file's\n"
    "path.";
constexpr const char* kTraceExamples = R"(Examples:
  farport trace orders.example:9000 --duration 30s
  farport trace prod-orders/orders --profile gc-collect -o orders.nettrace
  farport trace podman://orders --providers 'Orders:0x1:4'
  farport trace ssh://ops@web-3//orders --profile gc-verbose \
      --providers Microsoft-AspNetCore-Server-Kestrel
  farport trace orders.example:9000 --profile gc-verbose \
      --stopping-event-provider-name Orders --stopping-event-event-name PricedBadly)";

RunCommand add_trace_options(CLI::App& options, config::Flags& flags) {
  const auto into = std::make_shared<config::TraceSettings>();
  add_target(options, flags);
  add_output(options, flags, "Output file [NAME_TIME.nettrace]");
  add_list(options, "--profile", into->profiles,
           "dotnet-common, dotnet-sampled-thread-time, gc-verbose, gc-collect or database; may be repeated",
           "NAME[,NAME]");
  add_list(options, "--providers", into->providers,
           "Event providers to enable, in dotnet-trace's syntax; may be repeated",
           "NAME[:KEYWORDS[:LEVEL[:ARGUMENTS]]][,...]");
  add_duration(options, flags, kUntilStopped);
  options
      .add_option(
          "--rundown", into->rundown,
          "Whether the runtime writes all method names at the end: true or false [set by the profiles]")
      ->type_name("BOOL");
  add_keep(options, flags);
  options.add_flag("--no-resume", flags.no_resume,
                   "Do not resume a runtime that is suspended at startup; something else must resume it");
  options.add_option("--buffersize", into->buffer_mb, "Size of the runtime's event buffer, in MB [256]")
      ->type_name("MB")
      ->check(CLI::Range(1, 65536));
  options
      .add_option("--stopping-event-provider-name", into->stopping_event.provider,
                  "Stop the recording at an event of this provider")
      ->type_name("NAME");
  options
      .add_option("--stopping-event-event-name", into->stopping_event.event,
                  "Stop only at this event of the provider: a name or an id")
      ->type_name("EVENT");
  options
      .add_option("--stopping-event-payload-filter", into->stopping_event.payload,
                  "Stop only at an event whose fields have these values")
      ->type_name("FIELD:VALUE,...");

  return [&flags, into] { return run_with(config::resolve_trace(flags, *into), trace); };
}

}  // namespace

const Command kTrace{"trace", "Record a remote runtime's events (.nettrace), without .NET tools", kTraceAbout,
                     kTraceExamples, add_trace_options};

namespace {

/// How long to wait for the reader that watches for the event.
constexpr transport::Milliseconds kWatchLimit{5'000};

/// Has a reader watch for the event that ends the recording.
class EventWatch final : public ReaderSink {
 public:
  using ReaderSink::ReaderSink;

  Result<ipc::CollectTracing> prepare(const router::Runtime& /*runtime*/) override {
    RETURN_IF_ERROR(begin_reading({}, nullptr));
    return ipc::CollectTracing();
  }
  /// The reader does not keep up.
  void miss() { give_up({"look for", "the event", "the reader of the events is too slow", {}}); }
  /// Whether nobody watches for the event any more.
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  /// The recording itself continues.
  void take_failure(const Error& why) override {
    failed_ = true;
    print_message("the stopping event will not be noticed: " + why.message());
  }

  bool failed_ = false;
};

/// Writes the recording to a file as it comes.
class TraceFile final : public RecordingSink {
 public:
  /// `readers`: if an event ends the recording, otherwise null.
  TraceFile(transport::Loop& loop, const config::RecordingSettings& settings, ipc::CollectTracing wanted,
            const router::ReaderProcess* readers)
      : loop_(loop), settings_(settings), wanted_(std::move(wanted)) {
    if (readers == nullptr) return;
    watch_.emplace(loop, *readers);
    watch_->when_enough([this] { has_enough(); });
  }

  /// Path of the kept file; empty if there is none.
  [[nodiscard]] const std::string& path() const { return kept_; }

  Result<ipc::CollectTracing> prepare(const router::Runtime& runtime) override {
    if (watch_) {
      RETURN_IF_ERROR(watch_->prepare(runtime));
    }
    path_ = output_path(settings_.output, runtime.name, ".nettrace");
    ASSIGN_OR_RETURN(auto file, RecordingFile::create(path_, settings_.force));
    file_ = std::move(file);
    return wanted_;
  }
  transport::Task<Result<void>> take(std::shared_ptr<const Piece> piece) override {
    auto appended = co_await file_->append(loop_, piece);
    if (watch_ && !watch_->failed()) {
      const auto looked = co_await with_deadline(loop_, watch_->take(piece), kWatchLimit);
      if (!looked) watch_->miss();
    }
    co_return appended;
  }
  void discard() override { file_.reset(); }
  [[nodiscard]] Result<void> keep() override {
    if (file_ == nullptr) return {};
    auto kept = file_->keep();
    if (kept) kept_ = path_;
    return kept;
  }

 private:
  transport::Loop& loop_;
  const config::RecordingSettings& settings_;
  ipc::CollectTracing wanted_;
  std::shared_ptr<RecordingFile> file_;
  std::string path_;
  std::string kept_;
  std::optional<EventWatch> watch_;
};

}  // namespace

int record_trace(const config::RecordingSettings& settings, ipc::CollectTracing wanted,
                 const events::EventFilter& stopping_event) {
  std::optional<router::ReaderProcess> readers;
  if (!stopping_event.provider.empty()) {
    ASSIGN_OR_REPORT(auto started, start_readers(settings.remote, [&](const auto&, auto& from, auto& to) {
                       events::StoppingEvent search(stopping_event);
                       return router::make_lines(search, from, to);
                     }));
    readers.emplace(std::move(started));
  }
  transport::Loop loop;
  TraceFile file(loop, settings, std::move(wanted), readers ? &*readers : nullptr);
  const int code = record(settings, file, loop, Recorder::Progress::shown);
  if (file.path().empty()) return code;
  std::ignore = print_path(file.path());
  if (code == kInterrupted)
    print_message(
        "the recording was cut off before the runtime wrote everything: some methods may have no names");
  return code;
}

}  // namespace farport::cli
