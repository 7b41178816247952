// farport dump: a dump of a remote runtime.
#include <cerrno>
#include <csignal>
#include <cstdio>

#include <unistd.h>

#include "base/escape.hpp"
#include "cli/options/commands.hpp"
#include "cli/commands/dump_transfer.hpp"
#include "cli/setup/explain.hpp"
#include "cli/setup/remotes.hpp"
#include "transport/signals.hpp"

namespace farport::cli {
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
