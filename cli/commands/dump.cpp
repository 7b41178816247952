// farport dump: a dump of a remote runtime.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "base/escape.hpp"
#include "cli/options/commands.hpp"
#include "cli/output/output_path.hpp"
#include "cli/setup/explain.hpp"
#include "cli/setup/patience.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/setup/runtime_session.hpp"
#include "cli/terminal/live_region.hpp"
#include "cli/terminal/table.hpp"
#include "config/settings.hpp"
#include "router/mirror/dump_receiver.hpp"
#include "transport/child_process.hpp"
#include "transport/race.hpp"

namespace farport::cli {
namespace {

// A dump on its way: an agent takes it of one of its runtimes, and it comes here or stays there.

class DumpTransfer {
 public:
  /// All must outlive the transfer.
  DumpTransfer(transport::Loop& loop, const router::MirroredAgent& agent,
               const config::DumpCommandSettings& settings)
      : settings_(settings),
        session_(loop, agent, settings.session,
                 [this](const Error& why) { bar_.interrupted(why.message()); }),
        patience_(loop, session_, settings.patience, Patience::Work::dump,
                  [this](const std::string& line) { bar_.say(line); }) {}
  DumpTransfer(const DumpTransfer&) = delete;
  DumpTransfer& operator=(const DumpTransfer&) = delete;

  /// Runs until the dump is there, and returns its path; nothing where it was stopped before: the
  /// agent has been told then. Errors: the runtime isn't found (ESRCH), the agent refuses, the file can't be
  /// written.
  transport::Task<std::optional<Result<std::string>>> run(transport::StopSource& stop);
  /// Why the runtime may not have been found: see RuntimeSession.
  [[nodiscard]] const std::vector<std::string>& explanation() const { return session_.explanation(); }

 private:
  transport::Task<Result<std::string>> transfer();
  transport::Task<Result<std::string>> receive(router::Runtime runtime);

  const config::DumpCommandSettings& settings_;
  ProgressBar bar_;
  RuntimeSession session_;  ///< Outlives the work, so that the agent can be told when that is cancelled.
  Patience patience_;
};

using transport::Task;

/// An application that is restarted meanwhile, as liveness probes do it, leaves no dump.
void say_that_it_stops(const router::Runtime& runtime, const std::optional<router::Restart>& restart) {
  const std::string stands =
      fmt::format("{} (pid {}) stands still while it writes the dump", runtime.name, runtime.pid);
  if (!restart) return print_message(stands + ": liveness probes may restart it");
  print_message(fmt::format("{}: {} restarts it, and the dump is lost, if that takes {} s or more", stands,
                            restart->by, restart->after.count()));
}

/// In bytes a second: createdump to a file system that has room for it in its cache.
constexpr std::uint64_t kUsualRate = 200'000'000;

/// How long it is likely to take, where that matters.
void say_how_long(std::uint64_t bytes, const router::Restart& restart) {
  const auto seconds = static_cast<std::int64_t>(1 + bytes / kUsualRate);
  const bool too_long = seconds >= restart.after.count();
  print_message(fmt::format("{} are to be written, likely in {} s{}", router::mebibytes(bytes), seconds,
                            too_long ? ": that is too long; take one of --type mini, or let the probe wait "
                                       "longer (Ctrl-C ends this one)"
                                     : ""));
}

Task<Result<std::string>> DumpTransfer::receive(router::Runtime runtime) {
  const router::DumpRequest request{*ipc::dump_type_named(settings_.type), 0};
  std::error_code error;
  const std::string path = output_path(settings_.output, runtime.name, ".dmp");
  // Before the application is stopped for it.
  if (!settings_.stay && !settings_.force && std::filesystem::is_regular_file(path, error)) {
    co_return fail("write the dump to", path, "there is a file already", "name another one, or give --force");
  }
  const auto restart = co_await session_.restart();
  bool knows_size = false;
  if (restart) {
    say_that_it_stops(runtime, restart);
    const auto condition = co_await patience_.condition(runtime);
    knows_size = condition && condition->memory > 0;
    if (knows_size) say_how_long(router::likely_dump_size(request.type, condition->memory), *restart);
  }
  // An agent that has progress to tell of has not refused.
  router::OnDumpProgress on_progress = [this, &runtime, &restart, knows_size,
                                        said = false](const router::DumpProgress& progress) mutable {
    const bool writes = progress.phase == router::DumpProgress::Phase::writing;
    if (writes && !std::exchange(said, true)) {
      bar_.end();
      if (!restart) say_that_it_stops(runtime, restart);
      // An agent that is older, or busy, has not said so before.
      if (restart && !knows_size && progress.estimate) say_how_long(*progress.estimate, *restart);
    }
    if (!writes || progress.written > 0) patience_.answered();
    bar_.show(progress);
  };
  if (settings_.stay) {
    auto left = co_await router::leave_dump(session_.sessions(), runtime.id, request, std::move(on_progress));
    co_return left;
  }
  const auto size =
      co_await router::receive_dump(session_.sessions(), runtime.id, request, path, std::move(on_progress));
  if (!size) co_return tl::unexpected(size.error());
  co_return path;
}

Task<Result<std::string>> DumpTransfer::transfer() {
  auto target = co_await session_.open(settings_.runtime);
  if (!target) co_return tl::unexpected(target.error());
  const router::Runtime& runtime = *target;
  auto path = co_await patience_.wait(runtime, receive(runtime));
  co_return path;
}

Task<std::optional<Result<std::string>>> DumpTransfer::run(transport::StopSource& stop) {
  auto result = co_await first_of(transfer(), stop.wait());
  co_await first_of(session_.leave(), stop.again());
  bar_.end();
  co_return result;
}

}  // namespace
int dump(const config::DumpCommandSettings& settings) {
  const auto agents = agents_of({settings.remote});
  if (!agents) return report(agents.error(), kUsage);
  transport::Loop loop;
  transport::StopSource stop(loop);
  const transport::SignalWatch signals(loop, {SIGINT, SIGTERM}, [&stop](int) { stop.stop(); });
  DumpTransfer transfer(loop, agents->front(), settings);
  const auto path = loop.run(transfer.run(stop));
  if (!path) {
    std::fputs("farport: the dump is cancelled, nothing of it is left\n", stderr);
    return kInterrupted;
  }
  if (!*path) {
    const int code = report(path->error());
    print_messages(transfer.explanation());
    return code;
  }
  // A path of the agent's is its word; one of ours is for scripts as it is.
  const bool shown_to_a_person = settings.stay || ::isatty(STDOUT_FILENO) != 0;
  std::printf("%s\n", shown_to_a_person ? escape(**path).c_str() : (*path)->c_str());
  return kSuccess;
}

}  // namespace farport::cli
