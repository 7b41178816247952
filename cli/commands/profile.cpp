// farport profile: where a remote application spends its time.
#include <cerrno>
#include <csignal>

#include "cli/options/commands.hpp"
#include "cli/commands/cpu_profiling.hpp"
#include "cli/setup/explain.hpp"
#include "cli/setup/helpers.hpp"
#include "cli/output/output_path.hpp"
#include "cli/output/profile_output.hpp"
#include "cli/output/reader_sink.hpp"
#include "cli/commands/record_trace.hpp"
#include "cli/output/recorder.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/terminal/text.hpp"
#include "events/sampled_profile.hpp"
#include "router/readers/answers.hpp"
#include "router/wanted/recordings.hpp"
#include "transport/race.hpp"
#include "transport/signals.hpp"

namespace farport::cli {
namespace {

constexpr config::Milliseconds kUsualLength{10'000};
/// How long a graph of what has come is waited for once the recording has broken off.
constexpr transport::Milliseconds kRenderLimit{10'000};

/// Has a reader make a profile of the samples that a runtime records.
class ProfileSink final : public ReaderSink {
 public:
  using ReaderSink::ReaderSink;

  Result<ipc::CollectTracing> prepare(const router::Runtime& runtime) override {
    const Result<void> begun = begin_printing(runtime.name);
    if (!begun) return tl::unexpected(begun.error());
    return router::wanted_samples();
  }
};

/// What a reader does for it.
Result<void> render_samples(const std::string& process, const ProfileOutput& output, std::uint32_t rows,
                            router::ReaderInput& from, router::ReaderOutput& to) {
  events::SampledProfile samples(keep_for(output));
  Result<void> read = router::read_recording(from, samples, [] {});
  profile::Profile taken = samples.take();
  if (taken.samples.empty() && read)
    return fail("take a profile of", process, "the runtime has told no samples",
                "give it more time with --duration");
  if (taken.samples.empty()) return read;
  taken.process = process;
  const auto write_to = [&to](router::ReaderFrame kind) {
    return [&to, kind](std::string_view piece) -> Result<void> {
      if (!piece.empty()) to.write(kind, piece);
      return {};
    };
  };
  Result<void> rendered;
  if (!output.path.empty()) {
    rendered = render_file(taken, output, write_to(router::ReaderFrame::file));
    if (!rendered) return rendered;
    to.write(router::ReaderFrame::file);
  }
  rendered = render_lines(taken, output, rows, write_to(router::ReaderFrame::lines));
  // What comes before the rest is worth a graph, which is whole.
  return read ? rendered : read;
}

/// Errors: the reader's, or it takes too long.
transport::Task<Result<void>> finish_in_time(transport::Loop& loop, ProfileSink& sink) {
  auto finished = co_await with_deadline(loop, sink.finish(), kRenderLimit);
  co_return finished.value_or(fail("make", "a graph of what has come", "it takes too long"));
}

/// The runtime's own samples, of its threads whether they compute or wait.
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
  // What has come of a recording that breaks off is worth a graph.
  const Result<void> rendered = loop.run(finish_in_time(loop, sink));
  const bool unread = !rendered && rendered.error().cause == EPIPE;
  if (!sink.made_file()) {
    // What a recording fails by has been said.
    const bool unsaid = !rendered && !unread && code != kFailure;
    if (unsaid) std::ignore = report(rendered.error());
    return unsaid && code == kSuccess ? kFailure : code;
  }
  const Result<void> kept = keep_output(file);
  return kept ? code : report(kept.error());
}

/// The kernel's samples, of threads that compute.
Result<profile::Profile> take_cpu(const config::ProfileSettings& settings, int& code) {
  config::RemoteSettings remote = settings.remote;
  remote.profiles = true;
  const auto agents = agents_of({remote});
  if (!agents) {
    code = report(agents.error(), kUsage);
    return tl::unexpected(agents.error());
  }
  // For the names of methods.
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

/// Whether there can be such a file: it has what the runtime says, as it comes.
Result<void> check_trace(const config::ProfileSettings& settings) {
  if (!settings.wall)
    return fail("profile into", settings.output,
                "such a file has the runtime's own samples, not the kernel's", "give --wall, too");
  if (settings.top == 0) return {};
  return fail("print a table beside", settings.output, "the samples go to that file as they come",
              "leave --top out here, and give it to farport convert");
}

}  // namespace

int profile(const config::ProfileSettings& settings) {
  config::ProfileSettings asked = settings;
  asked.duration = settings.duration.value_or(kUsualLength);
  if (settings.output.ends_with(".nettrace")) {
    if (const auto checked = check_trace(settings); !checked) return report(checked.error(), kUsage);
    return record_trace(asked, router::wanted_samples(), {});
  }
  const ProfileOutput output{settings.output, settings.force, settings.top};
  auto file = open_output(output);
  if (!file) return report_output(file.error());
  if (settings.wall) return profile_wall(asked, output, file->get());
  int code = kSuccess;
  const auto taken = take_cpu(asked, code);
  // What has come of a recording that breaks off is worth a graph.
  if (code != kSuccess && (!taken || taken->samples.empty())) return code;
  const auto written = write_output(*taken, output, std::move(*file));
  return written ? code : report(written.error());
}

}  // namespace farport::cli
