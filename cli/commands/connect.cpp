// farport connect: runs the mirror.
#include <algorithm>
#include <csignal>
#include <cstdio>

#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/log.hpp"
#include "base/resources.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/output/mirror_view.hpp"
#include "cli/setup/explain.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/terminal/terminal_keys.hpp"
#include "config/resolve.hpp"
#include "transport/child_process.hpp"
#include "transport/timer.hpp"

namespace farport::cli {
namespace {

using transport::Task;

/// Changes within this time are drawn together.
constexpr transport::Milliseconds kRedrawPause{100};
/// How often to check whether the table may be drawn again, since no signal tells that a job has returned to
/// the foreground.
constexpr transport::Milliseconds kLookPause{300};
/// Time within which an agent usually lists its runtimes after the session's start.
constexpr transport::Milliseconds kUntilListed{1000};

/// Logs why connected agents list nothing, once each time that this happens, at a level that is shown.
Task<void> explain_nothing(router::Mirror& mirror, Log log, LogLevel level) {
  int looks = 0;  // Since a runtime was last mirrored.
  for (bool explained = false;;) {
    co_await transport::sleep(mirror.loop(), kUntilListed);
    looks = mirror.lists_nothing() ? looks + 1 : 0;
    if (mirror.mirrored() > 0) explained = false;
    // An application that is being restarted needs no explanation.
    if (explained || looks < 2) continue;
    explained = true;
    const auto lines = co_await explain_mirror(mirror, Missing::everything, false);
    for (const std::string& line : lines) log->say(level, line);
  }
}

Task<Result<void>> show(router::Mirror& mirror, MirrorView& view, transport::StopSource& stop,
                        Task<void> explain) {
  CO_RETURN_IF_ERROR(co_await mirror.start());
  // Redraws at each change of the mirror, until it is cancelled.
  Task<void> redraw = [](router::Mirror& shown, MirrorView& on) -> Task<void> {
    for (;;) {
      on.show(shown);
      co_await transport::sleep(shown.loop(), kRedrawPause);
      co_await shown.changed().wait();
    }
  }(mirror, view);
  redraw.start();
  Task<void> look = [](router::Mirror& shown, MirrorView& on) -> Task<void> {
    for (;;) {
      co_await transport::sleep(shown.loop(), kLookPause);
      if (on.is_behind()) shown.changed().set();
    }
  }(mirror, view);
  if (view.kind() == ViewKind::table) look.start();
  Task<void> explaining = std::move(explain);
  explaining.start();
  co_await stop.wait();
  co_return Result<void>{};
}

int connect_here(const config::ConnectSettings& settings) {
  const ViewKind kind = settings.json ? ViewKind::json : view_for_terminal();
  // The table shows most of what the log has, so only errors are logged.
  MirrorView view(kind);
  std::function<void()> make_way;
  if (kind == ViewKind::table) make_way = [&view] { view.make_way(); };
  const auto log =
      make_log(kind == ViewKind::table && !settings.log_level_given ? "error" : settings.log.level,
               settings.log.format, std::move(make_way));
  if (!log) return report(log.error());
  // With a table only errors are logged, so what it can't show is logged as errors.
  const auto level = kind == ViewKind::table ? LogLevel::error : LogLevel::warn;
  auto wanted =
      mirror_settings(settings, [to = *log, level](const std::string& what) { to->say(level, what); });
  if (!wanted) return report(wanted.error(), kUsage);
  // Two sockets for each runtime.
  raise_descriptor_limit();
  transport::Loop loop;
  router::Mirror mirror(loop, *log, std::move(*wanted));
  transport::StopSource stop(loop);
  TerminalWatch terminal(loop, [&stop] { stop.stop(); });
  const transport::SignalWatch signals(loop, {SIGINT, SIGTERM, SIGHUP}, [&](int number) {
    if (number == SIGHUP) {
      mirror.reload_certificates();
      terminal.hung_up();
    } else {
      stop.stop();
    }
  });
  std::optional<transport::SignalWatch> drawing;
  if (kind == ViewKind::table) {
    drawing.emplace(loop, std::initializer_list<int>{SIGWINCH, SIGCONT}, [&](int number) {
      if (number == SIGCONT) view.continued();
      mirror.changed().set();
    });
  }
  const Result<void> shown = loop.run(show(mirror, view, stop, explain_nothing(mirror, *log, level)));
  loop.run(mirror.leave());
  view.end();
  return shown ? kSuccess : report(shown.error());
}

}  // namespace

int connect(const config::ConnectSettings& settings) {
  return settings.detach ? connect_detached(settings) : connect_here(settings);
}

namespace {

constexpr const char* kConnectAbout =
    "Starts a mirror, which makes every runtime of one or several agents look local until Ctrl-C. A name\n"
    "that resolves to several addresses stands for the agents at all of them.";
constexpr const char* kConnectExamples = R"(Examples:
  farport connect orders.example:9000
  farport connect orders.example:9000 --detach     (until farport disconnect)
  farport connect prod-orders                      (a profile of the file)
  farport connect localhost:9000 --server-name orders      (a port-forward)
  farport connect 10.0.0.2:9000 --socket orders=/tmp/orders.sock
  farport connect 10.0.0.2:9000 --select 'orders*' --json
  farport connect ssh://ops@web-3                  (no port, no certificates, no farport there)
  farport connect podman://orders
  farport connect k8s://prod/deploy/orders
  farport connect --accept 0.0.0.0:9443            (farport serve --dial)
  farport connect 10.0.0.2:9000 --to /tmp/t.sock
      (for dotnet-trace collect --diagnostic-port /tmp/t.sock)
Then, in another terminal:
  dotnet-trace ps
  dotnet-trace collect -p PID)";

RunCommand add_connect_options(CLI::App& options, config::Flags& flags) {
  add_remotes(options, flags);
  add_json_option(options, flags.json, kJsonLinesHelp);
  CLI::Option* const detach = options.add_flag("--detach", flags.detach, kDetachHelp);
  add_settings(options, flags.given);
  options.get_option("--log-file")->needs(detach);
  return [&flags] { return run_with(config::resolve_connect(flags), connect); };
}

}  // namespace

const Command kConnect{"connect", "Start a mirror, beside the tools: make remote runtimes look local",
                       kConnectAbout, kConnectExamples, add_connect_options};

}  // namespace farport::cli
