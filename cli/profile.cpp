// farport profile: where a remote application spends its time.
#include <cerrno>
#include <csignal>

#include "cli/commands.hpp"
#include "cli/cpu_profiling.hpp"
#include "cli/explain.hpp"
#include "cli/profile_output.hpp"
#include "cli/profile_sink.hpp"
#include "cli/record_trace.hpp"
#include "cli/recorder.hpp"
#include "cli/remotes.hpp"
#include "router/wanted/recordings.hpp"
#include "transport/signals.hpp"

namespace farport::cli {
namespace {

constexpr config::Milliseconds kUsualLength{10'000};

/// The runtime's own samples, of its threads whether they compute or wait.
Result<profile::Profile> take_wall(const config::ProfileSettings& settings, profile::Keep keep, int& code) {
  transport::Loop loop;
  ProfileSink sink(router::wanted_samples(), keep);
  code = record(settings, sink, loop, Recorder::Progress::shown);
  return sink.take_profile();
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
  transport::Loop loop;
  transport::StopSource stop(loop);
  const transport::SignalWatch signals(loop, {SIGINT, SIGTERM}, [&stop](int) { stop.stop(); });
  CpuProfiling profiling(loop, agents->front(), settings);
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
  int code = kSuccess;
  const auto taken = settings.wall ? take_wall(asked, keep_for(output), code) : take_cpu(asked, code);
  // What has come of a recording that breaks off is worth a graph.
  if (code != kSuccess && (!taken || taken->samples.empty())) return code;
  const auto written = write_output(*taken, output, std::move(*file));
  return written ? code : report(written.error());
}

}  // namespace farport::cli
