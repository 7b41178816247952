// farport profile: shows where an application spends its time.
#include "profile/profile.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <optional>

#include <CLI/CLI.hpp>

#include "cli/commands/keep.hpp"
#include "cli/commands/trace.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/output/output.hpp"
#include "cli/output/profile_output.hpp"
#include "cli/output/reader_sink.hpp"
#include "cli/output/recorder.hpp"
#include "cli/setup/explain.hpp"
#include "cli/setup/helpers.hpp"
#include "cli/setup/patience.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/setup/runtime_session.hpp"
#include "cli/terminal/live_region.hpp"
#include "cli/terminal/table.hpp"
#include "config/resolve.hpp"
#include "events/sampled_profile.hpp"
#include "router/collect/cpu_profile.hpp"
#include "router/collect/recording.hpp"
#include "router/readers/answers.hpp"
#include "router/recordings/recordings.hpp"
#include "router/symbol_files/symbol_search.hpp"
#include "transport/child_process.hpp"
#include "transport/race.hpp"

namespace farport::cli {
namespace {

/// Takes a profile of a remote process by sampling from outside.

class CpuProfiling {
 public:
  /// All arguments must outlive it. `settings` must have a duration.
  CpuProfiling(transport::Loop& loop, const router::ReaderProcess& readers,
               const router::MirroredAgent& agent, const config::ProfileSettings& settings);
  CpuProfiling(const CpuProfiling&) = delete;
  CpuProfiling& operator=(const CpuProfiling&) = delete;

  /// Samples until the duration is over, the process ends, or `stop` is set; a second stop breaks it off.
  /// Fails if the runtime isn't found (ESRCH), or if the agent can't or must not sample it.
  transport::Task<Result<profile::Profile>> run(transport::StopSource& stop);
  /// Why the runtime may not have been found; see RuntimeSession.
  [[nodiscard]] const std::vector<std::string>& explanation() const { return session_.explanation(); }

 private:
  transport::Task<Result<profile::Profile>> take(transport::StopSource& stop);
  transport::Task<Result<void>> receive(router::CpuProfile& taken, transport::StopSource& stop);
  transport::Task<void> stop_early(router::CpuProfile& taken, transport::StopSource& stop);
  transport::Task<profile::Profile> name_all(router::CpuSamples& samples, const router::Runtime& runtime,
                                             transport::StopSource& stop);
  transport::Task<Result<void>> ask_names(const router::Runtime& runtime, const router::CpuSamples& samples,
                                          router::NamedMethods& names);
  transport::Task<std::vector<std::string>> search_symbols(router::CpuSamples& samples,
                                                           const router::CpuSamples::NameManaged& managed,
                                                           transport::StopSource& stop);

  transport::Loop& loop_;
  const router::ReaderProcess& readers_;
  const config::ProfileSettings& settings_;
  ProgressLine progress_;
  RuntimeSession session_;  ///< Outlives the work, so that the agent can be told when it is cancelled.
  Patience patience_;
  bool stopped_early_ = false;  ///< By Ctrl-C.
  transport::Event broken_off_;
};

using transport::Task;

/// The cache for files from symbol servers (XDG Base Directory Specification); empty if the user has no place
/// for it.
std::string symbol_cache_directory() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/farport/symbols";
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache/farport/symbols" : std::string();
}

router::SymbolSources sources_of(const config::SymbolSettings& settings) {
  return {settings.directories, settings.servers, symbol_cache_directory()};
}

/// Adds the alternatives to an error about sampling by the kernel.
Error with_way_out(Error error, config::ProfileEvent event) {
  error.hint += error.hint.empty() ? "" : "; ";
  error.hint +=
      event == config::ProfileEvent::cpu
          ? "or use --event wall, which needs no kernel sampling, or --wall, the runtime's own sampler"
          : "or use --wall, the runtime's own sampler";
  return error;
}

CpuProfiling::CpuProfiling(transport::Loop& loop, const router::ReaderProcess& readers,
                           const router::MirroredAgent& agent, const config::ProfileSettings& settings)
    : loop_(loop),
      readers_(readers),
      settings_(settings),
      progress_(loop),
      session_(loop, agent, settings.session,
               [this](const Error& why) { progress_.interrupted(why.message()); }),
      patience_(loop, session_, settings.patience, Patience::Work::events,
                [this](const std::string& line) { progress_.say(line); }),
      broken_off_(loop) {}

Task<Result<profile::Profile>> CpuProfiling::run(transport::StopSource& stop) {
  auto taken = co_await take(stop);
  co_await first_of(session_.leave(), stop.again());
  progress_.end();
  co_return taken;
}

Task<Result<profile::Profile>> CpuProfiling::take(transport::StopSource& stop) {
  const auto opened = co_await first_of(session_.open(settings_.runtime), stop.wait());
  if (!opened) co_return tl::unexpected(interrupted("take a profile"));
  if (!*opened) co_return tl::unexpected(opened->error());
  const router::Runtime& runtime = **opened;
  router::CpuProfile taken(
      session_.sessions(), runtime.id,
      {settings_.frequency, *settings_.duration, settings_.event == config::ProfileEvent::wall});
  const auto begun = co_await first_of(taken.begin(), stop.wait());
  if (!begun) co_return tl::unexpected(interrupted("take a profile"));
  if (!*begun) co_return tl::unexpected(with_way_out(begun->error(), settings_.event));
  progress_.begin(runtime.name, settings_.duration);
  CO_RETURN_IF_ERROR(co_await receive(taken, stop));
  progress_.note("requesting method names");
  profile::Profile made = co_await name_all(taken.samples(), runtime, stop);
  co_return made;
}

Task<Result<void>> CpuProfiling::receive(router::CpuProfile& taken, transport::StopSource& stop) {
  transport::TaskSet stopping(loop_);
  stopping.spawn(stop_early(taken, stop));
  std::function<void(std::size_t)> count = [this](std::size_t bytes) { progress_.add(bytes); };
  auto received = co_await first_of(taken.receive(std::move(count)), broken_off_.wait());
  if (!received) co_return tl::unexpected(interrupted("take a profile"));
  co_return std::move(*received);
}

Task<void> CpuProfiling::stop_early(router::CpuProfile& taken, transport::StopSource& stop) {
  co_await stop.wait();
  stopped_early_ = true;
  progress_.note("stopping");
  const auto stopped = co_await first_of(taken.stop(), stop.again());
  if (stopped && *stopped) co_await stop.again();
  broken_off_.set();
}

Task<profile::Profile> CpuProfiling::name_all(router::CpuSamples& samples, const router::Runtime& runtime,
                                              transport::StopSource& stop) {
  router::NamedMethods names;
  const auto told = co_await first_of(ask_names(runtime, samples, names), stop.again());
  const router::CpuSamples::NameManaged managed = [&names](std::uint64_t address) {
    const profile::Frame* const found = names.find(address);
    return found == nullptr ? std::nullopt : std::optional(*found);
  };
  std::vector<std::string> missing = co_await search_symbols(samples, managed, stop);
  progress_.end();
  const std::string nameless = !told ? "it is interrupted" : *told ? std::string() : told->error().message();
  if (!nameless.empty()) print_message("methods of .NET have no names: " + nameless);
  print_messages(samples.notes());
  print_messages(missing);
  profile::Profile made;
  made.process = runtime.name;
  made.pid = runtime.pid;
  samples.add_to(made, managed);
  co_return made;
}

Task<Result<void>> CpuProfiling::ask_names(const router::Runtime& runtime, const router::CpuSamples& samples,
                                           router::NamedMethods& names) {
  if (runtime.state == router::RuntimeState::suspended)
    co_return tl::unexpected(router::is_suspended(runtime));
  // After Ctrl-C the user wants what there is, without waiting for a runtime that can't answer.
  std::optional<Error> still;
  if (stopped_early_) still = co_await patience_.check_stopped(runtime);
  if (still) co_return tl::unexpected(std::move(*still));
  std::vector<std::uint64_t> addresses;
  for (const router::SampledCall& call : samples.calls()) addresses.push_back(call.address);
  auto told = co_await patience_.wait(
      runtime, router::read_methods(session_.sessions(), runtime.id, readers_, std::move(addresses), names));
  co_return told;
}

Task<std::vector<std::string>> CpuProfiling::search_symbols(router::CpuSamples& samples,
                                                            const router::CpuSamples::NameManaged& managed,
                                                            transport::StopSource& stop) {
  std::vector<std::string> warnings;
  router::SymbolSources sources = sources_of(settings_.symbols);
  if (sources.empty()) co_return warnings;
  router::SymbolSearch search(loop_, std::move(sources),
                              [this](std::string doing) { progress_.note(std::move(doing)); });
  const bool whole = co_await first_of(search.run(samples.unnamed(managed), samples), stop.again());
  warnings = search.warnings();
  if (!whole) warnings.emplace_back("the search for symbols is interrupted: some functions have no names");
  co_return warnings;
}

constexpr config::Milliseconds kUsualLength{10'000};
/// How long to wait for a graph of incomplete data after the recording broke off.
constexpr transport::Milliseconds kRenderLimit{10'000};

/// Has a reader make a profile of the runtime's own samples.
class ProfileSink final : public ReaderSink {
 public:
  using ReaderSink::ReaderSink;

  Result<ipc::CollectTracing> prepare(const router::Runtime& runtime) override {
    if (runtime.native)
      return fail("take a profile of", runtime.name, "the sampler of NativeAOT's runtime names no methods",
                  "give --event wall instead, which has the names of the program's symbols");
    RETURN_IF_ERROR(begin_printing(runtime.name));
    return router::wanted_samples();
  }
};

/// The reader's part of it.
Result<void> render_samples(const std::string& process, const ProfileOutput& output, std::uint32_t rows,
                            router::ReaderInput& from, router::ReaderOutput& to) {
  events::SampledProfile samples(keep_for(output));
  Result<void> read = router::read_recording(from, samples, [] {});
  profile::Profile taken = samples.take();
  if (taken.samples.empty() && read)
    return fail("take a profile of", process, "the runtime reported no samples",
                "sample for longer with --duration");
  if (taken.samples.empty()) return read;
  taken.process = process;
  const auto write_to = [&to](router::ReaderFrame kind) {
    return [&to, kind](std::string_view piece) -> Result<void> {
      if (!piece.empty()) to.write(kind, piece);
      return {};
    };
  };
  if (!output.path.empty()) {
    RETURN_IF_ERROR(render_file(taken, output, write_to(router::ReaderFrame::file)));
    to.write(router::ReaderFrame::file);
  }
  const Result<void> rendered = render_lines(taken, output, rows, write_to(router::ReaderFrame::lines));
  // An incomplete recording still makes a complete graph.
  return read ? rendered : read;
}

/// Fails with the reader's error, or if it takes too long.
transport::Task<Result<void>> finish_in_time(transport::Loop& loop, ProfileSink& sink) {
  auto finished = co_await with_deadline(loop, sink.finish(), kRenderLimit);
  co_return finished.value_or(fail("make", "a graph of the samples", "it takes too long"));
}

/// Profiles by the runtime's own sampler, which samples running and waiting threads.
int profile_wall(const config::ProfileSettings& settings, const ProfileOutput& output, OutputFile* file) {
  const std::uint32_t rows = rows_for(output);
  const auto readers =
      start_readers(settings.remote, [&output, rows](const auto& wanted, auto& from, auto& to) {
        return render_samples(wanted.text, output, rows, from, to);
      });
  if (!readers) return report(readers.error());
  transport::Loop loop;
  ProfileSink sink(loop, *readers, file);
  const int code = record(settings, sink, loop, Recorder::Progress::shown);
  // An incomplete recording still makes a graph.
  const Result<void> rendered = loop.run(finish_in_time(loop, sink));
  const bool unread = !rendered && rendered.error().cause == EPIPE;
  if (!sink.made_file()) {
    // The recording's failure was already reported.
    const bool unsaid = !rendered && !unread && code != kFailure;
    if (unsaid) std::ignore = report(rendered.error());
    return unsaid && code == kSuccess ? kFailure : code;
  }
  const Result<void> kept = keep_output(file);
  return kept ? code : report(kept.error());
}

/// Profiles by sampling from outside.
Result<profile::Profile> take_cpu(const config::ProfileSettings& settings, int& code) {
  config::RemoteSettings remote = settings.remote;
  remote.profiles = true;
  const auto agents = agents_of({remote});
  if (!agents) {
    code = report(agents.error(), kUsage);
    return tl::unexpected(agents.error());
  }
  // Needed for the names of methods.
  const auto readers =
      start_readers(settings.remote, [](const auto&, auto&, auto&) { return Result<void>(); });
  if (!readers) {
    code = report(readers.error());
    return tl::unexpected(readers.error());
  }
  transport::Loop loop;
  transport::StopSource stop(loop);
  const transport::SignalWatch signals(loop, {SIGINT, SIGTERM}, [&stop](int) { stop.stop(); });
  CpuProfiling profiling(loop, *readers, agents->front(), settings);
  auto taken = loop.run(profiling.run(stop));
  if (taken) return taken;
  code = report(taken.error());
  print_messages(profiling.explanation());
  return taken;
}

/// Checks that a .nettrace file is possible: it holds the runtime's own data as it comes.
Result<void> check_trace(const config::ProfileSettings& settings) {
  if (!settings.wall)
    return fail("profile into", settings.output,
                "this format holds the runtime's own samples, not the kernel's", "give --wall, too");
  if (settings.top == 0) return {};
  return fail("print a table beside", settings.output, "the samples are streamed into that file",
              "leave --top out here, and give it to farport convert");
}

Wanted wanted_of_agent(const config::ProfileSettings& settings) {
  const auto length = std::chrono::ceil<std::chrono::seconds>(settings.duration.value_or(kUsualLength));
  Wanted wanted{"profile", {{"format", "html"}, {"duration", std::to_string(length.count())}}};
  wanted.parameters["frequency"] = std::to_string(settings.frequency);
  if (settings.event == config::ProfileEvent::wall) wanted.parameters["event"] = "wall";
  return wanted;
}

int profile(const config::ProfileSettings& settings) {
  if (settings.keep)
    return keep(settings.remote, settings.runtime, settings.session, wanted_of_agent(settings));
  config::ProfileSettings asked = settings;
  asked.duration = settings.duration.value_or(kUsualLength);
  if (settings.output.ends_with(".nettrace")) {
    REPORT_IF_ERROR(check_trace(settings), kUsage);
    return record_trace(asked, router::wanted_samples(), {});
  }
  const ProfileOutput output{settings.output, settings.force, settings.top};
  auto file = open_output(output);
  if (!file) return report_output(file.error());
  if (settings.wall) return profile_wall(asked, output, file->get());
  int code = kSuccess;
  const auto taken = take_cpu(asked, code);
  // An incomplete recording still makes a graph.
  if (code != kSuccess && (!taken || taken->samples.empty())) return code;
  const auto written = write_output(*taken, output, std::move(*file));
  return written ? code : report(written.error());
}

constexpr const char* kProfileAbout =
    "Draws a flame graph of where a remote application spends CPU time or, with --event wall, of all its\n"
    "threads, waiting ones included. The application needs no preparation and no restart.";
constexpr const char* kProfileExamples = R"(Examples:
  farport profile orders.example:9000 -o orders.html
  farport profile k8s://prod/deploy/orders --wall -o orders.html
  farport profile k8s://prod/deploy/orders --event wall --top
  farport profile podman://orders --top
  farport profile orders.example:9000 | grep Pricing)";

RunCommand add_profile_options(CLI::App& options, config::Flags& flags) {
  const auto into = std::make_shared<config::ProfileSettings>();
  add_target(options, flags);
  add_output(options, flags, kProfileForms);
  CLI::Option* const wall = options.add_flag(
      "--wall", into->wall, "Use the runtime's own sampler: all .NET threads, running or waiting");
  options
      .add_option("--event", flags.event,
                  "cpu: threads that run; wall: all threads, sampled from outside the process, even if it "
                  "hangs or is stopped [cpu]")
      ->type_name("EVENT")
      ->check(CLI::IsMember({"cpu", "wall"}))
      ->excludes(wall);
  options
      .add_option("--frequency", into->frequency,
                  "Samples per second of each running thread; with --event wall, of each thread [99]")
      ->type_name("HZ")
      ->check(CLI::Range(1, 999));
  add_top(options, into->top);
  add_duration(options, flags, "How long to sample, such as 30s or 00:00:30 [10s]");

  add_keep(options, flags);
  return [&flags, into] { return run_with(config::resolve_profile(flags, *into), profile); };
}

}  // namespace

const Command kProfile{"profile", "Draw a flame graph of where a remote application spends its time",
                       kProfileAbout, kProfileExamples, add_profile_options};

}  // namespace farport::cli
