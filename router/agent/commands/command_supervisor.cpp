#include "router/agent/commands/command_supervisor.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/resources.hpp"
#include "transport/child_process.hpp"

namespace farport::router {
namespace {

constexpr int kExitNotStarted = 127;
constexpr std::size_t kMaxSaid = 4096;
constexpr int kPiecesAtOnce = 16;
/// Ends what a command has started within two seconds, unless the kernel holds it.
constexpr int kMostLooks = 1000;
constexpr std::chrono::milliseconds kBetweenLooks{2};
constexpr std::size_t kMostPids = std::size_t{64} << 10;
constexpr std::size_t kSpliceBytes = std::size_t{64} << 10;

/// A process's standard streams: the ends that it gets, and ours.
struct StandardStreams {
  Pipe input;
  Pipe output;
  Pipe messages;
};

Result<StandardStreams> make_streams() {
  ASSIGN_OR_RETURN(auto input, make_pipe(O_CLOEXEC));
  ASSIGN_OR_RETURN(auto output, make_pipe(O_CLOEXEC));
  ASSIGN_OR_RETURN(auto messages, make_pipe(O_CLOEXEC));
  for (const UniqueFd* ours : {&input.writing, &output.reading, &messages.reading})
    ::fcntl(ours->get(), F_SETFL, O_NONBLOCK);
  return StandardStreams{std::move(input), std::move(output), std::move(messages)};
}

[[noreturn]] void say_and_exit(const Error& error) {
  std::string text = error.message() + "\n";
  std::ignore = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(kExitNotStarted);
}

/// Undoes what the helper has set for itself and what a program would inherit.
void restore_defaults() {
  for (int number = 1; number < NSIG; ++number) std::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const rlimit no_dumps{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_dumps);
}

/// Becomes the command.
[[noreturn]] void execute(const OperatorCommand& command, const CommandVariables& variables,
                          const StandardStreams& streams, pid_t supervisor) {
  ::dup2(streams.input.reading.get(), STDIN_FILENO);
  ::dup2(streams.output.writing.get(), STDOUT_FILENO);
  ::dup2(streams.messages.writing.get(), STDERR_FILENO);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  // In a group of its own, so that all of it can be killed.
  ::setsid();
  restore_defaults();
  std::ignore = ::chdir("/");
  auto arguments = command_arguments(command.arguments, variables);
  if (!arguments) say_and_exit(arguments.error());
  std::vector<std::string> environment = command.environment;
  for (const auto& [name, value] : variables) {
    std::string& variable = environment.emplace_back("FARPORT_" + name);
    std::ranges::transform(variable, variable.begin(), [](unsigned char c) { return std::toupper(c); });
    variable += "=" + value;
  }
  const Result<void> given_up = command.give_up();
  if (!given_up) say_and_exit(given_up.error());
  end_with_parent(supervisor);
  const auto argv = transport::pointers_to(*arguments);
  const auto envp = transport::pointers_to(environment);
  ::execve(argv.front(), argv.data(), envp.data());
  say_and_exit(fail_errno("start", arguments->front(), errno).value());
}

class Supervisor {
 public:
  Supervisor(UniqueFd agent, StandardStreams streams, pid_t command)
      : agent_(std::move(agent)),
        input_(std::move(streams.input.writing)),
        unread_(std::move(streams.input.reading)),
        output_(std::move(streams.output.reading)),
        messages_(std::move(streams.messages.reading)),
        command_(command),
        process_(transport::open_pidfd(command)) {}

  /// Returns once the command has ended, or was killed because the agent is gone.
  void run();

 private:
  /// Passes on what there is. Returns whether the agent is still there.
  bool give_input();
  void take(const UniqueFd& from, std::string& to, bool keep_last) const;
  /// Kills the command with all that it has started, whatever group that is in, and waits for their ends.
  void end_all() const;
  [[nodiscard]] bool has_ended() const;
  void tell_result();
  [[nodiscard]] bool agent_is_gone() const;

  UniqueFd agent_;
  UniqueFd input_;   ///< Empty once all was given.
  UniqueFd unread_;  ///< The other end of that pipe, to see what the command leaves in it.
  UniqueFd output_;
  UniqueFd messages_;
  pid_t command_;
  UniqueFd process_;
  bool pipe_is_full_ = false;
  std::string output_text_;
  std::string messages_text_;
};

bool Supervisor::agent_is_gone() const {
  pollfd agent{agent_.get(), 0, 0};
  return ::poll(&agent, 1, 0) > 0 && (agent.revents & (POLLHUP | POLLERR)) != 0;
}

void Supervisor::end_all() const {
  ::kill(-command_, SIGKILL);
  // What loses its parent becomes a child of this process, which is a subreaper.
  const std::string children = fmt::format("/proc/self/task/{}/children", ::getpid());
  for (int looks = 0; looks < kMostLooks; ++looks) {
    std::istringstream pids(read_limited(children, kMostPids).value_or(""));
    for (pid_t child = 0; pids >> child;) ::kill(child, SIGKILL);
    const pid_t ended = ::waitpid(-1, nullptr, WNOHANG);
    if (ended < 0) return;
    if (ended == 0) std::this_thread::sleep_for(kBetweenLooks);
  }
}

bool Supervisor::has_ended() const {
  siginfo_t how{};
  return ::waitid(P_PID, static_cast<id_t>(command_), &how, WEXITED | WNOWAIT | WNOHANG) == 0 &&
         how.si_pid == command_;
}

bool Supervisor::give_input() {
  for (;;) {
    const ssize_t given =
        ::splice(agent_.get(), nullptr, input_.get(), nullptr, kSpliceBytes, SPLICE_F_NONBLOCK);
    if (given > 0 || (given < 0 && errno == EINTR)) continue;
    if (given < 0 && errno != EAGAIN) return false;
    if (given < 0) {
      // Either there is nothing, or it does not fit.
      pollfd agent{agent_.get(), POLLIN, 0};
      pipe_is_full_ = ::poll(&agent, 1, 0) > 0 && (agent.revents & POLLIN) != 0;
      return true;
    }
    // An end that was meant leaves the other direction open (unix(7), shutdown(2)).
    if (agent_is_gone()) return false;
    input_.reset();
    return true;
  }
}

/// Takes what there is, and keeps the first or the last bytes.
void Supervisor::take(const UniqueFd& from, std::string& to, bool keep_last) const {
  std::array<char, kMaxSaid> piece{};
  // A command that says much must not keep this process from its other work.
  for (int pieces = 0; pieces < kPiecesAtOnce; ++pieces) {
    const ssize_t got = ::read(from.get(), piece.data(), piece.size());
    if (got <= 0) return;
    to.append(piece.data(), static_cast<std::size_t>(got));
    if (to.size() <= kMaxSaid) continue;
    if (keep_last) to.erase(0, to.size() - kMaxSaid);
    to.resize(kMaxSaid);
  }
}

void Supervisor::run() {
  constexpr int kForEver = -1;
  // Where there are no pidfds.
  constexpr int kLookForEnd = 100;
  const int most = process_ ? kForEver : kLookForEnd;
  while (!has_ended()) {
    std::array<pollfd, 5> watched{
        pollfd{agent_.get(), static_cast<short>(input_ && !pipe_is_full_ ? POLLIN : 0), 0},
        pollfd{input_ && pipe_is_full_ ? input_.get() : -1, POLLOUT, 0}, pollfd{output_.get(), POLLIN, 0},
        pollfd{messages_.get(), POLLIN, 0}, pollfd{process_.get(), POLLIN, 0}};
    if (::poll(watched.data(), watched.size(), most) < 0) continue;
    const auto& [agent, input, output, messages, process] = watched;
    if ((output.revents & POLLIN) != 0) take(output_, output_text_, false);
    if ((messages.revents & POLLIN) != 0) take(messages_, messages_text_, true);
    // A stream whose other end is closed would be ready for ever.
    if ((output.revents & (POLLHUP | POLLIN)) == POLLHUP) output_.reset();
    if ((messages.revents & (POLLHUP | POLLIN)) == POLLHUP) messages_.reset();
    if ((agent.revents & (POLLHUP | POLLERR)) != 0) return end_all();
    if ((input.revents & (POLLOUT | POLLERR)) != 0) pipe_is_full_ = false;
    const bool may_give = (agent.revents & POLLIN) != 0 || (input.revents & POLLOUT) != 0;
    if (input_ && may_give && !give_input()) return end_all();
  }
  tell_result();
}

void Supervisor::tell_result() {
  siginfo_t how{};
  ::waitid(P_PID, static_cast<id_t>(command_), &how, WEXITED | WNOWAIT);
  // Whatever it has left running.
  end_all();
  if (output_) take(output_, output_text_, false);
  if (messages_) take(messages_, messages_text_, true);
  int unread = 0;
  ::ioctl(unread_.get(), FIONREAD, &unread);
  CommandResultHead head;
  (how.si_code == CLD_EXITED ? head.exit_code : head.signal) = how.si_status;
  head.read_all = !input_ && unread == 0 ? 1 : 0;
  head.output = static_cast<std::uint32_t>(output_text_.size());
  head.messages = static_cast<std::uint32_t>(messages_text_.size());
  const std::string result =
      std::string(reinterpret_cast<const char*>(&head), sizeof head) + output_text_ + messages_text_;
  std::ignore = ::send(agent_.get(), result.data(), result.size(), MSG_NOSIGNAL);
}

}  // namespace

void supervise_command(const OperatorCommand& command, const CommandVariables& variables, UniqueFd agent) {
  auto streams = make_streams();
  if (!streams) return;
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t supervisor = ::getpid();
  const pid_t started = ::_Fork();
  if (started < 0) return;
  if (started == 0) execute(command, variables, *streams, supervisor);
  streams->output.writing.reset();
  streams->messages.writing.reset();
  Supervisor(std::move(agent), std::move(*streams), started).run();
}

}  // namespace farport::router
