// farport stdio: beside the runtimes, a session over standard input and output.
#include <cerrno>
#include <cstdio>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/unique_fd.hpp"
#include "base/version.hpp"
#include "cli/agent_program.hpp"
#include "cli/commands.hpp"
#include "cli/detach.hpp"
#include "cli/own_directory.hpp"
#include "cli/splice.hpp"
#include "config/values.hpp"
#include "router/reach/greeting.hpp"

namespace farport::cli {
namespace {

/// Where this user's agent of this version listens.
std::string socket_in(const std::string& directory) {
  return directory + "/stdio-" + std::string(kVersion) + ".sock";
}

/// Connects to the agent at `path`. Errors: nothing listens there (`cause` is ENOENT or ECONNREFUSED), or it
/// can't be reached.
Result<UniqueFd> join(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail("join the agent at", path, "the path is too long: a socket's has 107 bytes at most");
  }
  path.copy(address.sun_path, path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail_errno("join the agent at", path, errno, "does farport serve have local = \"" + path + "\"?");
  }
  return socket;
}

/// An agent that serves the runtimes of its own user, to that user, without a port.
config::ServeSettings private_agent(const std::string& socket) {
  config::ServeSettings settings;
  settings.local = socket;
  settings.search.push_back(config::temporary_directory());
  settings.search_processes = true;
  auth::Grant grant;
  grant.text = "stdio";
  grant.identity.local = {std::to_string(::geteuid())};
  grant.role = "admin";
  settings.policy.grants.push_back(std::move(grant));
  settings.audit = "off";
  return settings;
}

/// Runs the private agent of `directory` in this process.
int run_private_agent(const std::string& directory, const Log& log, AgentProgram program) {
  const config::ServeSettings settings = private_agent(socket_in(directory));
  program.linger = settings.session.grace;
  const int exit_code = run_agent(settings, log, program);
  // Only an empty one goes.
  ::rmdir(directory.c_str());
  return exit_code;
}

/// Nothing in the process that goes on as the agent: `exit_code` is how that has ended.
struct Started {
  std::optional<int> exit_code{};
};

/// Starts the agent in a process that outlives this one, and returns here once it listens.
Result<Started> start_agent(const std::string& directory) {
  auto detached = detach();
  if (!detached) return tl::unexpected(detached.error());
  if (detached->exit_code) {
    if (*detached->exit_code == kSuccess) return Started{};
    return Started{detached->exit_code};
  }
  StartReport& report = *detached->report;
  AgentProgram program;
  program.fatal = [&report](const Error& error, int exit_code) { return report.failed(error, exit_code); };
  program.on_listening = [&report] { report.succeeded({}); };
  return Started{run_private_agent(directory, make_silent_log(), std::move(program))};
}

/// Copies in both directions until the agent has ended its own, and then for no longer.
int carry(UniqueFd agent) {
  std::puts(std::string("\n").append(router::kGreeting).c_str());
  std::fflush(stdout);
  std::thread to_agent([fd = agent.get()] {
    copy_all(STDIN_FILENO, fd);
    ::shutdown(fd, SHUT_WR);
  });
  to_agent.detach();
  const bool whole = copy_all(agent.get(), STDOUT_FILENO);
  // Not through main: the other direction waits for input that may never come.
  ::_exit(whole ? kSuccess : kFailure);
}

int serve_in_foreground(const std::string& directory) {
  const auto log = make_log("info", "text");
  if (!log) return report(log.error());
  AgentProgram program;
  program.fatal = [](const Error& error, int exit_code) { return report(error, exit_code); };
  return run_private_agent(directory, *log, std::move(program));
}

}  // namespace

int stdio(const config::StdioSettings& settings) {
  if (!settings.foreground && ::isatty(STDOUT_FILENO) != 0) {
    return report(Error{"carry",
                        "a session",
                        "standard output is a terminal",
                        "this is what farport connect --via 'ssh HOST farport stdio' runs at the other end",
                        {}},
                  kUsage);
  }
  if (!settings.join.empty()) {
    auto joined = join(settings.join);
    return joined ? carry(std::move(*joined)) : report(joined.error());
  }
  const auto directory = own_directory();
  if (!directory) return report(directory.error());
  if (settings.foreground) return serve_in_foreground(*directory);
  // Of two that come at once, one starts the agent.
  UniqueFd lock(::open(directory->c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock) ::flock(lock.get(), LOCK_EX);
  auto joined = join(socket_in(*directory));
  if (!joined) {
    const auto started = start_agent(*directory);
    if (!started) return report(started.error());
    if (started->exit_code) return *started->exit_code;
    joined = join(socket_in(*directory));
  }
  lock.reset();
  return joined ? carry(std::move(*joined)) : report(joined.error());
}

}  // namespace farport::cli
