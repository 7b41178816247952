// farport stdio: carries a session over standard input and output, at the runtimes' side.
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <span>
#include <thread>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/files.hpp"
#include "base/output_file.hpp"
#include "base/process_stat.hpp"
#include "base/unique_fd.hpp"
#include "base/version.hpp"
#include "cli/commands/detached_mirrors.hpp"
#include "cli/commands/serve.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/setup/own_directory.hpp"
#include "config/values.hpp"
#include "confinement/user.hpp"
#include "router/reach/stdio_command.hpp"

namespace farport::cli {
namespace {

constexpr std::size_t kAtOnce = 256 * 1024;

/// Whether to retry a failed operation. For non-blocking descriptors it waits first.
bool again(int from, int to) {
  if (errno == EINTR) return true;
  if (errno != EAGAIN) return false;
  // Either descriptor may be the one that blocks, so poll both in turn.
  pollfd readable{from, POLLIN, 0};
  if (::poll(&readable, 1, -1) < 0) return errno == EINTR;
  pollfd writable{to, POLLOUT, 0};
  return ::poll(&writable, 1, -1) >= 0 || errno == EINTR;
}

bool copy_through_memory(int from, int to) {
  std::vector<std::byte> buffer(kAtOnce);
  for (;;) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got == 0) return true;
    if (got < 0 && !again(from, to)) return false;
    if (got > 0 && write_whole(to, std::span(buffer).first(static_cast<std::size_t>(got))) != 0) return false;
  }
}

/// Copies everything up to the end, waiting as long as it takes. Returns false on an error. Uses splice(2) if
/// possible.
bool copy_all(int from, int to) {
  for (;;) {
    const ssize_t moved = ::splice(from, nullptr, to, nullptr, kAtOnce, SPLICE_F_MOVE);
    if (moved == 0) return true;
    if (moved > 0) continue;
    // splice(2): neither is a pipe, or the kernel does not support one of them.
    if (errno == EINVAL) return copy_through_memory(from, to);
    if (!again(from, to)) return false;
  }
}

/// File name of a deployed copy of this program.
constexpr const char* kProgram = "farport";
/// Number of attempts to join an agent that is about to listen, and the interval.
constexpr int kTries = 50;
constexpr std::chrono::milliseconds kTryAgain{100};
/// Time for an agent's first bytes: it examines the host's processes first.
constexpr std::chrono::milliseconds kUntilSpeaks{20'000};

/// The place of the agent's socket.
struct Place {
  std::string directory;
  std::string name;      ///< Of the socket, with a leading slash.
  bool brought = false;  ///< The directory and the program in it are removed with the agent.
};

/// The id of our pid namespace. Containers of one user may share a directory, but an agent sees only
/// processes of its own namespace.
std::string pid_namespace() {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? std::to_string(status.st_ino) : "0";
}

/// This user's own place for agents of this version, or the configured one.
Result<Place> place_of(const config::StdioSettings& settings) {
  const bool brought = !settings.directory.empty();
  ASSIGN_OR_RETURN(auto directory, brought ? own_directory_at(settings.directory) : own_directory());
  const std::string name =
      brought ? "/stdio.sock" : "/stdio-" + std::string(kVersion) + "-" + pid_namespace() + ".sock";
  return Place{directory, name, brought};
}

/// Waits for the agent's first bytes, which an HTTP/2 server sends at once (RFC 9113, section 3.4). An agent
/// that is ending accepts connections but sends nothing. Fails like join().
Result<void> wait_for_agent(int socket, const std::string& called) {
  pollfd readable{socket, POLLIN, 0};
  if (::poll(&readable, 1, static_cast<int>(kUntilSpeaks.count())) == 0) {
    ucred process{};
    socklen_t size = sizeof process;
    ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &process, &size);
    return fail_errno("join the agent at", called, ETIMEDOUT,
                      "is process " + std::to_string(process.pid) + " there stopped or hung? Kill it");
  }
  std::byte first{};
  if (::recv(socket, &first, sizeof first, MSG_PEEK) == sizeof first) return {};
  return fail_errno("join the agent at", called, ECONNREFUSED, "it was shutting down: try again");
}

/// Connects to the agent at `path`, called `called` in messages, and waits for its first bytes. Fails if
/// nothing listens there (`cause` is ENOENT or ECONNREFUSED) or it can't be reached.
Result<UniqueFd> join(const std::string& path, const std::string& called) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail("join the agent at", called, "the path is too long: a socket path has at most 107 bytes");
  }
  path.copy(address.sun_path, path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail_errno("join the agent at", called, errno,
                      "does farport serve have local = \"" + called + "\"?");
  }
  RETURN_IF_ERROR(wait_for_agent(socket.get(), called));
  return socket;
}

/// The same with retries, for an agent that may be about to listen.
Result<UniqueFd> join_soon(const std::string& path) {
  for (int tries = 1;; ++tries) {
    auto joined = join(path, path);
    const bool may_come = !joined && (joined.error().cause == ENOENT || joined.error().cause == ECONNREFUSED);
    if (!may_come || tries == kTries) return joined;
    std::this_thread::sleep_for(kTryAgain);
  }
}

/// Settings of an agent without a port that serves its own user's runtimes to that user.
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

/// Opens and locks the agent's directory, so that starting and ending an agent there exclude each other.
Result<UniqueFd> lock_directory(const config::StdioSettings& settings) {
  for (;;) {
    ASSIGN_OR_RETURN(const auto place, place_of(settings));
    ASSIGN_OR_RETURN(auto directory, open_own_directory(place.directory));
    ::flock(directory.get(), LOCK_EX);
    // An agent that ended meanwhile has removed the directory.
    if (is_at(directory.get(), place.directory)) return directory;
  }
}

/// Runs the private agent in this process.
int run_private_agent(const Place& place, const Log& log, AgentProgram program) {
  const config::ServeSettings settings = private_agent(place.directory + place.name);
  // Opened now, since at the agent's end its name may refer to another directory.
  const auto directory = open_own_directory(place.directory);
  const int exit_code = run_agent(settings, log, program);
  // Another command holds the lock, and will start the next agent here.
  if (!directory || ::flock(directory->get(), LOCK_EX | LOCK_NB) != 0) return exit_code;
  if (place.brought) ::unlinkat(directory->get(), kProgram, 0);
  // Removes the directory only if it is empty.
  if (is_at(directory->get(), place.directory)) ::rmdir(place.directory.c_str());
  return exit_code;
}

/// The exit code to end with; empty if the agent listens and this process should join it.
struct Started {
  std::optional<int> exit_code{};
};

/// Whether a container engine has started this process, as `docker exec` does. Then none of its ancestors is
/// in this pid namespace (pid_namespaces(7)).
bool entered_from_outside() {
  constexpr pid_t kFirst = 1;
  pid_t ancestor = ::getppid();
  while (ancestor > kFirst) {
    const auto stat = process_stat(ancestor);
    ancestor = stat ? stat->parent : kFirst;
  }
  return ancestor == 0;
}

/// In a container this process stays the agent's parent for the agent's lifetime. Otherwise that would be the
/// container's first process, the application, which reaps no children, so each agent would leave a zombie.
void reap_agent() {
  if (!entered_from_outside()) return;
  close_streams();
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
}

/// Starts the agent in a process that outlives this one. Returns here once it listens.
Result<Started> start_agent(const Place& place, config::Milliseconds linger) {
  // Orphans of a killed agent must be reaped here, too.
  if (entered_from_outside()) ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  auto detached = detach();
  if (!detached) return tl::unexpected(detached.error());
  if (detached->exit_code) {
    if (*detached->exit_code == kSuccess) return Started{};
    reap_agent();
    return Started{detached->exit_code};
  }
  StartReport& report = *detached->report;
  AgentProgram program;
  program.linger = linger;
  program.fatal = [&report](const Error& error, int exit_code) { return report.failed(error, exit_code); };
  program.on_listening = [&report] { report.succeeded({}); };
  return Started{run_private_agent(place, make_silent_log(), std::move(program))};
}

/// Copies in both directions until the agent has ended its direction.
int carry(UniqueFd agent) {
  // A blocking splice(2) would hold the pipe's lock while it waits for a socket, and block readers of our
  // output.
  ::fcntl(agent.get(), F_SETFL, O_NONBLOCK);
  std::puts(std::string("\n").append(router::kGreeting).c_str());
  std::fflush(stdout);
  std::thread to_agent([fd = agent.get()] {
    copy_all(STDIN_FILENO, fd);
    ::shutdown(fd, SHUT_WR);
  });
  to_agent.detach();
  const bool whole = copy_all(agent.get(), STDOUT_FILENO);
  reap_agent();
  // Don't return through main: the thread for the other direction may wait for input for ever.
  ::_exit(whole ? kSuccess : kFailure);
}

/// Docker gives capabilities to root only, but the sampler must run as the runtime's user with capabilities.
Result<void> become_user(const std::string& text) {
  if (text.empty()) return {};
  ASSIGN_OR_RETURN(const auto user, confinement::find_user(text));
  return confinement::become(user, confinement::sampler_capabilities());
}

int serve_in_foreground(const Place& place, config::Milliseconds linger) {
  ASSIGN_OR_REPORT(const auto log, make_log("info", "text"));
  AgentProgram program;
  program.linger = linger;
  program.fatal = [](const Error& error, int exit_code) { return report(error, exit_code); };
  return run_private_agent(place, log, std::move(program));
}

int stdio(const config::StdioSettings& settings) {
  if (!settings.foreground && ::isatty(STDOUT_FILENO) != 0) {
    return report(Error{"carry", "a session", "standard output is a terminal",
                        "run it from the other host: farport connect --via 'ssh HOST farport stdio'"},
                  kUsage);
  }
  REPORT_IF_ERROR(become_user(settings.user), kUsage);
  if (!settings.join.empty()) {
    auto joined = join_soon(settings.join);
    return joined ? carry(std::move(*joined)) : report(joined.error());
  }
  ASSIGN_OR_REPORT(const auto place, place_of(settings));
  if (settings.foreground) return serve_in_foreground(place, settings.linger);
  ASSIGN_OR_REPORT(auto directory, lock_directory(settings));
  // Connect through the descriptor, since others may replace the directory's path.
  const std::string path = place.directory + place.name;
  const std::string socket = "/proc/self/fd/" + std::to_string(directory.get()) + place.name;
  auto joined = join(socket, path);
  if (!joined && joined.error().cause == ETIMEDOUT) return report(joined.error());
  if (!joined) {
    ASSIGN_OR_REPORT(const auto started, start_agent(place, settings.linger));
    if (started.exit_code) return *started.exit_code;
    joined = join(socket, path);
  }
  directory.reset();
  return joined ? carry(std::move(*joined)) : report(joined.error());
}

constexpr const char* kStdioAbout =
    "The remote end of farport connect --via and of ssh:// targets. Connects to this user's own agent,\n"
    "starting it if needed, and carries a session over standard input and output. That agent serves this\n"
    "user's runtimes to this user alone, without a port, and exits some time after its last session\n"
    "(--linger).";
constexpr const char* kStdioExamples = R"(Examples:
  farport connect --via 'ssh ops@web-3 farport stdio'      (on the laptop)
  farport stdio --join /run/farport/agent.sock
      (a farport serve with --local /run/farport/agent.sock, whose grants count)";

RunCommand add_stdio_options(CLI::App& options, config::Flags& flags) {
  std::ignore = flags;
  const auto into = std::make_shared<config::StdioSettings>();
  options
      .add_option("--join", into->join,
                  "Join a running farport serve at its --local socket, instead of this user's own agent")
      ->type_name("PATH");
  options.add_flag("--foreground", into->foreground,
                   "Be this user's own agent, in the foreground, until no session needs it");
  options
      .add_option("--directory", into->directory,
                  "The own agent's directory: created with mode 0700, and removed with the farport in it "
                  "when the agent exits")
      ->type_name("DIR");
  options
      .add_option_function<std::string>(
          "--linger",
          [into](const std::string& text) {
            const auto linger = config::parse_duration(text);
            if (!linger) throw CLI::ValidationError("--linger", linger.error().message());
            into->linger = *linger;
          },
          "How long the own agent keeps running after its last session [" +
              config::to_string(config::kLinger) + "]")
      ->type_name("DURATION");
  options
      .add_option("--user", into->user,
                  "If started as root: switch to this user first, keeping the capabilities for profiling")
      ->type_name("USER[:GROUP]");
  return [into] { return stdio(*into); };
}

}  // namespace

const Command kStdio{"stdio", "Carry a session over standard input and output, beside the runtimes",
                     kStdioAbout, kStdioExamples, add_stdio_options};

}  // namespace farport::cli
