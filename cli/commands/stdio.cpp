// farport stdio: beside the runtimes, a session over standard input and output.
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <span>
#include <thread>
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

#include "base/output_file.hpp"
#include "base/process_stat.hpp"
#include "base/unique_fd.hpp"
#include "base/version.hpp"
#include "cli/commands/agent_program.hpp"
#include "cli/commands/detached_mirrors.hpp"
#include "cli/options/commands.hpp"
#include "cli/setup/own_directory.hpp"
#include "config/values.hpp"
#include "confinement/user.hpp"
#include "router/reach/stdio_command.hpp"

namespace farport::cli {
namespace {

// Copying from one descriptor to another, in the kernel where it can.

constexpr std::size_t kAtOnce = 256 * 1024;

/// Whether an operation is to be tried again, after waiting where the descriptors don't wait themselves.
bool again(int from, int to) {
  if (errno == EINTR) return true;
  if (errno != EAGAIN) return false;
  // Either may be what it waits for: both are asked in turn.
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

/// Copies all that comes until the end, waiting as long as it takes. False: one of the two failed.
bool copy_all(int from, int to) {
  for (;;) {
    const ssize_t moved = ::splice(from, nullptr, to, nullptr, kAtOnce, SPLICE_F_MOVE);
    if (moved == 0) return true;
    if (moved > 0) continue;
    // splice(2): neither is a pipe, or one of them is none that it knows.
    if (errno == EINVAL) return copy_through_memory(from, to);
    if (!again(from, to)) return false;
  }
}

/// What a copy of this program is called where it has been brought along.
constexpr const char* kProgram = "farport";
/// How often to try an agent that is just about to listen, and how long after the last try.
constexpr int kTries = 50;
constexpr std::chrono::milliseconds kTryAgain{100};
/// How long an agent may take to speak: it looks at the host's processes first.
constexpr std::chrono::milliseconds kUntilSpeaks{20'000};

/// Where the agent has its socket.
struct Place {
  std::string directory;
  std::string name;      ///< The socket's, with a slash before it.
  bool brought = false;  ///< The directory goes with it, and the program that has been put there.
};

/// The number of our pid namespace. Containers of one user may share a directory, and an agent sees the
/// processes of its own one alone.
std::string pid_namespace() {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? std::to_string(status.st_ino) : "0";
}

/// This user's own, for the agents of this version; or the one that is named.
Result<Place> place_of(const config::StdioSettings& settings) {
  const bool brought = !settings.directory.empty();
  auto directory = brought ? own_directory_at(settings.directory) : own_directory();
  if (!directory) return tl::unexpected(directory.error());
  const std::string name =
      brought ? "/stdio.sock" : "/stdio-" + std::string(kVersion) + "-" + pid_namespace() + ".sock";
  return Place{*directory, name, brought};
}

/// Waits until the agent speaks, as an HTTP/2 server does at once (RFC 9113, section 3.4). One that is about
/// to end can be connected to, and says nothing. Errors: as those of join().
Result<void> await_agent(int socket, const std::string& called) {
  pollfd readable{socket, POLLIN, 0};
  if (::poll(&readable, 1, static_cast<int>(kUntilSpeaks.count())) == 0) {
    ucred process{};
    socklen_t size = sizeof process;
    ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &process, &size);
    return fail_errno("join the agent at", called, ETIMEDOUT,
                      "is process " + std::to_string(process.pid) + " there stopped or hung? End it");
  }
  std::byte first{};
  if (::recv(socket, &first, sizeof first, MSG_PEEK) == sizeof first) return {};
  return fail_errno("join the agent at", called, ECONNREFUSED, "it was about to end: try again");
}

/// Connects to the agent at `path`, which people know as `called`, and has it answer. Errors: nothing listens
/// there any more (`cause` is ENOENT or ECONNREFUSED), or it can't be reached.
Result<UniqueFd> join(const std::string& path, const std::string& called) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail("join the agent at", called, "the path is too long: a socket's has 107 bytes at most");
  }
  path.copy(address.sun_path, path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail_errno("join the agent at", called, errno,
                      "does farport serve have local = \"" + called + "\"?");
  }
  const auto answers = await_agent(socket.get(), called);
  if (!answers) return tl::unexpected(answers.error());
  return socket;
}

/// The same with patience: it may be about to listen.
Result<UniqueFd> join_soon(const std::string& path) {
  for (int tries = 1;; ++tries) {
    auto joined = join(path, path);
    const bool may_come = !joined && (joined.error().cause == ENOENT || joined.error().cause == ECONNREFUSED);
    if (!may_come || tries == kTries) return joined;
    std::this_thread::sleep_for(kTryAgain);
  }
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

bool leads_to(const std::string& path, int directory) {
  struct stat found {};
  struct stat opened {};
  return ::lstat(path.c_str(), &found) == 0 && ::fstat(directory, &opened) == 0 &&
         found.st_dev == opened.st_dev && found.st_ino == opened.st_ino;
}

/// Opens the agent's directory and locks it: of two who begin or end an agent in it, one waits.
Result<UniqueFd> lock_directory(const config::StdioSettings& settings) {
  for (;;) {
    const auto place = place_of(settings);
    if (!place) return tl::unexpected(place.error());
    auto directory = open_own_directory(place->directory);
    if (!directory) return directory;
    ::flock(directory->get(), LOCK_EX);
    // An agent that has ended has removed it meanwhile.
    if (leads_to(place->directory, directory->get())) return directory;
  }
}

/// Runs the private agent in this process.
int run_private_agent(const Place& place, const Log& log, AgentProgram program) {
  const config::ServeSettings settings = private_agent(place.directory + place.name);
  // As it is now: by its end another one may have its name.
  const auto directory = open_own_directory(place.directory);
  const int exit_code = run_agent(settings, log, program);
  // Another command holds the lock: it starts the next agent in this directory.
  if (!directory || ::flock(directory->get(), LOCK_EX | LOCK_NB) != 0) return exit_code;
  if (place.brought) ::unlinkat(directory->get(), kProgram, 0);
  // Only an empty one goes.
  if (leads_to(place.directory, directory->get())) ::rmdir(place.directory.c_str());
  return exit_code;
}

/// Nothing in the process that goes on as the agent: `exit_code` is how that has ended.
struct Started {
  std::optional<int> exit_code{};
};

/// Whether an engine has put this process into a container, as `docker exec` does: then none of its ancestors
/// is of this pid namespace (pid_namespaces(7)).
bool entered_from_outside() {
  constexpr pid_t kFirst = 1;
  pid_t ancestor = ::getppid();
  while (ancestor > kFirst) {
    const auto stat = process_stat(ancestor);
    ancestor = stat ? stat->parent : kFirst;
  }
  return ancestor == 0;
}

/// In a container the agent's parent is this process, for as long as the agent lives. Otherwise it would be
/// the container's first process, the application, which waits for none: each agent would leave a zombie.
void outlive_agent() {
  if (!entered_from_outside()) return;
  close_streams();
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
}

/// Starts the agent in a process that outlives this one, and returns here once it listens.
Result<Started> start_agent(const Place& place, config::Milliseconds linger) {
  // What the agent leaves if it is killed is ours to wait for, too.
  if (entered_from_outside()) ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  auto detached = detach();
  if (!detached) return tl::unexpected(detached.error());
  if (detached->exit_code) {
    if (*detached->exit_code == kSuccess) return Started{};
    outlive_agent();
    return Started{detached->exit_code};
  }
  StartReport& report = *detached->report;
  AgentProgram program;
  program.linger = linger;
  program.fatal = [&report](const Error& error, int exit_code) { return report.failed(error, exit_code); };
  program.on_listening = [&report] { report.succeeded({}); };
  return Started{run_private_agent(place, make_silent_log(), std::move(program))};
}

/// Copies in both directions until the agent has ended its own, and then for no longer.
int carry(UniqueFd agent) {
  // splice(2) holds a pipe's lock while it waits for a socket: who reads from our output would wait with it.
  ::fcntl(agent.get(), F_SETFL, O_NONBLOCK);
  std::puts(std::string("\n").append(router::kGreeting).c_str());
  std::fflush(stdout);
  std::thread to_agent([fd = agent.get()] {
    copy_all(STDIN_FILENO, fd);
    ::shutdown(fd, SHUT_WR);
  });
  to_agent.detach();
  const bool whole = copy_all(agent.get(), STDOUT_FILENO);
  outlive_agent();
  // Not through main: the other direction waits for input that may never come.
  ::_exit(whole ? kSuccess : kFailure);
}

/// Docker gives capabilities to root alone, and the sampler must be the runtime's user and have some.
Result<void> become_user(const std::string& text) {
  if (text.empty()) return {};
  const auto user = confinement::find_user(text);
  if (!user) return tl::unexpected(user.error());
  return confinement::become(*user, confinement::sampler_capabilities());
}

int serve_in_foreground(const Place& place, config::Milliseconds linger) {
  const auto log = make_log("info", "text");
  if (!log) return report(log.error());
  AgentProgram program;
  program.linger = linger;
  program.fatal = [](const Error& error, int exit_code) { return report(error, exit_code); };
  return run_private_agent(place, *log, std::move(program));
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
  if (const auto became = become_user(settings.user); !became) return report(became.error(), kUsage);
  if (!settings.join.empty()) {
    auto joined = join_soon(settings.join);
    return joined ? carry(std::move(*joined)) : report(joined.error());
  }
  const auto place = place_of(settings);
  if (!place) return report(place.error());
  if (settings.foreground) return serve_in_foreground(*place, settings.linger);
  auto directory = lock_directory(settings);
  if (!directory) return report(directory.error());
  // Not by the directory's path, on which others may put another one.
  const std::string path = place->directory + place->name;
  const std::string socket = "/proc/self/fd/" + std::to_string(directory->get()) + place->name;
  auto joined = join(socket, path);
  if (!joined && joined.error().cause == ETIMEDOUT) return report(joined.error());
  if (!joined) {
    const auto started = start_agent(*place, settings.linger);
    if (!started) return report(started.error());
    if (started->exit_code) return *started->exit_code;
    joined = join(socket, path);
  }
  directory->reset();
  return joined ? carry(std::move(*joined)) : report(joined.error());
}

}  // namespace farport::cli
