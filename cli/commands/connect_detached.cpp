// farport connect --detach: runs the mirror in the background.
#include <algorithm>
#include <csignal>

#include <sys/stat.h>
#include <unistd.h>

#include "base/log.hpp"
#include "cli/commands/detached_mirrors.hpp"
#include "cli/options/commands.hpp"
#include "cli/output/mirror_view.hpp"
#include "cli/setup/explain.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/terminal/table.hpp"
#include "transport/child_process.hpp"
#include "transport/timer.hpp"

namespace farport::cli {
namespace {

using transport::Task;

/// Size at which a mirror's own log is truncated.
constexpr off_t kMaxLogBytes = 1024 * 1024;

/// Refuses a second mirror of the same agent, which would show each runtime twice to tools. Removes what a
/// crash has left.
Result<void> check_not_running(const config::ConnectSettings& settings) {
  const auto running = find_detached_mirrors();
  if (!running) return tl::unexpected(running.error());
  const std::vector<std::string> names = names_of(settings.remotes);
  for (const FoundMirror& found : *running) {
    if (found.mirror.socket_dir != settings.socket_dir) continue;
    const std::vector<std::string>& theirs = found.mirror.agents;
    const auto both = std::find_first_of(names.begin(), names.end(), theirs.begin(), theirs.end());
    if (both == names.end()) continue;
    if (found.pid != 0) {
      return fail("connect to", *both, "a detached mirror of it runs already",
                  "end that with: farport disconnect " + *both);
    }
    if (auto removed = end_detached_mirror(found); !removed) return removed;
  }
  return {};
}

/// The output of a detached mirror after its start. `notes`: why it shows nothing.
std::string first_words(const router::Mirror& mirror, const config::ConnectSettings& settings,
                        std::size_t columns, std::vector<std::string> notes) {
  if (settings.json) return MirrorView(ViewKind::json).changes(mirror);
  MirrorState state{mirror.rows(), mirror.links(), std::move(notes)};
  sort_rows(state.rows);
  std::string names;
  for (const std::string& name : names_of(settings.remotes)) names += " " + name;
  state.hint = (state.rows.empty() ? "" : "Use the LOCAL PIDs with any dotnet diagnostic tool. ") +
               ("End with: farport disconnect" + names);
  return join_lines(mirror_lines(state, {columns, 0}));
}

/// What a detached mirror needs to continue.
struct Going {
  const config::ConnectSettings& settings;
  StartReport& report;
  DetachedEntry& entry;
  std::size_t columns;
};

Task<Result<void>> go_on(router::Mirror& mirror, Going going, transport::StopSource& stop) {
  const Result<void> started = co_await mirror.start();
  if (!started) co_return started;
  {
    const transport::Deadline limit(mirror.loop(), router::kSettleLimit,
                                    [&mirror] { mirror.stop_settling(); });
    const Result<void> settled = co_await mirror.settled();
    if (!settled) co_return settled;
  }
  const Result<void> published = going.entry.publish();
  if (!published) co_return published;
  std::vector<std::string> notes;
  if (mirror.lists_nothing() && !going.settings.json)
    notes = co_await explain_mirror(mirror, Missing::everything, false);
  const std::string words = first_words(mirror, going.settings, going.columns, std::move(notes));
  // The starting command was interrupted meanwhile, so its user does not want the mirror.
  if (!going.report.succeeded(words)) co_return Result<void>{};
  co_await stop.wait();
  co_return Result<void>{};
}

int run_detached(const config::ConnectSettings& settings, StartReport report, std::size_t columns) {
  const auto entry = DetachedEntry::make({names_of(settings.remotes), settings.socket_dir, settings.log_file,
                                          router::utc_text(std::chrono::system_clock::now())});
  if (!entry) return report.failed(entry.error(), kFailure);
  const int log_fd = (*entry)->log_fd();
  ::dup2(log_fd, STDERR_FILENO);
  std::function<void()> bound;
  if ((*entry)->has_own_log()) {
    bound = [log_fd] {
      struct stat status {};
      if (::fstat(log_fd, &status) == 0 && status.st_size > kMaxLogBytes)
        std::ignore = ::ftruncate(log_fd, 0);
    };
  }
  const auto log = make_announcing_log(settings.log.level, settings.log.format, std::move(bound));
  if (!log) return report.failed(log.error(), kUsage);
  auto wanted = mirror_settings(settings, [to = *log](const std::string& what) { to->warn("{}", what); });
  if (!wanted) return report.failed(wanted.error(), kUsage);
  transport::Loop loop;
  router::Mirror mirror(loop, *log, std::move(*wanted));
  transport::StopSource stop(loop);
  const transport::SignalWatch signals(loop, {SIGINT, SIGTERM, SIGHUP}, [&](int number) {
    if (number == SIGHUP) return mirror.reload_certificates();
    mirror.stop_settling();
    stop.stop();
  });
  const Result<void> went = loop.run(go_on(mirror, Going{settings, report, **entry, columns}, stop));
  loop.run(mirror.leave());
  if (went) return kSuccess;
  (*log)->error("{}", went.error().message());
  return report.failed(went.error(), kFailure);
}

}  // namespace

int connect_detached(const config::ConnectSettings& settings) {
  const Result<void> free = check_not_running(settings);
  if (!free) return report(free.error());
  const std::size_t columns = terminal_size(STDOUT_FILENO).columns;
  auto detached = detach();
  if (!detached) return report(detached.error());
  if (detached->exit_code) return *detached->exit_code;
  return run_detached(settings, std::move(*detached->report), columns);
}

}  // namespace farport::cli
