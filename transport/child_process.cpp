#include "transport/child_process.hpp"

#include <cerrno>
#include <csignal>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process_stat.hpp"
#include "transport/fd_stream.hpp"

namespace farport::transport {
namespace {

/// How long a process may take to clean up. One that reads a password restores the terminal's echo.
constexpr std::uint64_t kUntilKilledMs = 100;
/// How long it may take to end after SIGKILL, on a busy machine.
constexpr std::uint64_t kUntilGivenUpMs = 2000;

/// A process whose owner is gone. It deletes itself once the process has ended.
struct Leftover {
  std::unique_ptr<Process> process;
  OwnedHandle<uv_timer_t> timer;
  bool killed = false;
};

/// How often to look whether a process has ended, if it has no pidfd.
constexpr std::uint64_t kLookMs = 50;

/// What posix_spawn(3) does in the new process.
class SpawnSteps {
 public:
  SpawnSteps() {
    posix_spawn_file_actions_init(&files_);
    posix_spawnattr_init(&attributes_);
  }
  SpawnSteps(const SpawnSteps&) = delete;
  SpawnSteps& operator=(const SpawnSteps&) = delete;
  ~SpawnSteps() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }

  /// No signal is ignored or blocked there, as in a program that a shell starts.
  void reset_signals(short more_flags) {
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    const int flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | more_flags;
    posix_spawnattr_setflags(&attributes_, static_cast<short>(flags));
  }
  /// Gives it standard streams. Returns 0 or an errno value.
  int set_streams(const std::array<int, 3>& streams) {
    for (int to = 0; to < 3; ++to) {
      const int from = streams.at(static_cast<std::size_t>(to));
      int failed = 0;
      if (from < 0) {
        failed = posix_spawn_file_actions_addopen(&files_, to, "/dev/null", O_RDWR, 0);
      } else if (from < 3 && from != to) {
        // One that comes earlier may have taken its place by then.
        UniqueFd& copy = copies_.emplace_back(::fcntl(from, F_DUPFD_CLOEXEC, 3));
        if (!copy) return errno;
        failed = posix_spawn_file_actions_adddup2(&files_, copy.get(), to);
      } else {
        failed = posix_spawn_file_actions_adddup2(&files_, from, to);
      }
      if (failed != 0) return failed;
    }
    return 0;
  }
  int set_root_directory() { return posix_spawn_file_actions_addchdir_np(&files_, "/"); }

  int spawn(pid_t& pid, const Program& program) {
    char* const* const environment = program.environment == nullptr ? environ : program.environment;
    return ::posix_spawnp(&pid, program.file, &files_, &attributes_, program.arguments, environment);
  }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
  std::vector<UniqueFd> copies_;
};

}  // namespace

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

Result<std::unique_ptr<Process>> Process::start(Loop& loop, const Program& program, OnEnd on_end) {
  // Where it is ignored, as by some parents, nobody learns how a child has ended (wait(2)).
  if (is_ignored(SIGCHLD)) ::signal(SIGCHLD, SIG_DFL);
  SpawnSteps steps;
  steps.reset_signals(program.apart ? POSIX_SPAWN_SETSID : 0);
  int failed = steps.set_streams(program.streams);
  if (failed == 0 && program.apart) failed = steps.set_root_directory();
  pid_t pid = 0;
  if (failed == 0) failed = steps.spawn(pid, program);
  if (failed != 0) return fail_errno("start", program.file, failed);
  return std::make_unique<Process>(loop, pid, std::move(on_end));
}

Process::Process(Loop& loop, pid_t pid, OnEnd on_end)
    : pid_(pid), on_end_(std::move(on_end)), pidfd_(open_pidfd(pid)) {
  if (pidfd_) {
    poll_.reset(new uv_poll_t{});
    uv_poll_init(loop.uv(), poll_.get(), pidfd_.get());
    poll_->data = this;
    uv_poll_start(poll_.get(), UV_READABLE,
                  [](uv_poll_t* poll, int, int) { static_cast<Process*>(poll->data)->look(); });
  } else {
    timer_.reset(new uv_timer_t{});
    uv_timer_init(loop.uv(), timer_.get());
    timer_->data = this;
    uv_timer_start(
        timer_.get(), [](uv_timer_t* timer) { static_cast<Process*>(timer->data)->look(); }, 0, kLookMs);
  }
}

void Process::look() {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG) != 0) {
    // Somebody else has reaped it.
    info.si_pid = pid_;
    info.si_code = CLD_EXITED;
  }
  if (info.si_pid == 0) return;
  ended_ = true;
  poll_.reset();
  timer_.reset();
  // Moved out, since the call may destroy this object.
  const OnEnd on_end = std::move(on_end_);
  on_end(info.si_code == CLD_EXITED ? info.si_status : kKilledBySignal + info.si_status);
}

void Process::signal(int number) const {
  if (!ended_) ::kill(pid_, number);
}

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(Loop& loop, Start start) {
  auto child = std::make_unique<ChildProcess>(loop);
  std::vector<char*> argv = pointers_to(start.arguments);
  std::vector<char*> envp = pointers_to(start.environment);
  const Program program{argv[0], argv.data(), start.environment.empty() ? nullptr : envp.data(),
                        start.streams};
  ASSIGN_OR_RETURN(child->process_, Process::start(loop, program, [self = child.get()](int exit_code) {
                     self->exit_code_ = exit_code;
                     self->ended_.set();
                   }));
  return child;
}

Task<int> ChildProcess::wait() {
  while (!exit_code_) co_await ended_.wait();
  co_return *exit_code_;
}

void ChildProcess::signal(int number) {
  process_->signal(number);
}

ChildProcess::~ChildProcess() {
  if (process_ != nullptr && !exit_code_) Process::terminate_detached(loop_, std::move(process_), SIGTERM);
}

void Process::terminate_detached(Loop& loop, std::unique_ptr<Process> process, int signal) {
  process->signal(signal);
  auto leftover = std::make_unique<Leftover>();
  leftover->process = std::move(process);
  leftover->process->on_end_ = [self = leftover.get()](int) { delete self; };
  leftover->timer.reset(new uv_timer_t{});
  leftover->timer->data = leftover.get();
  uv_timer_init(loop.uv(), leftover->timer.get());
  // libuv's clock stands still within a turn; update it so that the delay counts from now.
  uv_update_time(loop.uv());
  uv_timer_start(
      leftover->timer.get(),
      [](uv_timer_t* timer) {
        auto* const self = static_cast<Leftover*>(timer->data);
        if (std::exchange(self->killed, true)) {
          // A process that waits for a disk survives even SIGKILL: give up on it.
          delete self;
        } else {
          self->process->signal(SIGKILL);
        }
      },
      kUntilKilledMs, kUntilGivenUpMs);
  // The process and the timer know it from here on, and delete it.
  std::ignore = leftover.release();
}

UniqueFd open_pidfd(pid_t pid) {
  if (pid <= 0) return {};
  // glibc's wrapper is not used: its header (2.36) lacks the extern "C" that C++ needs.
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

std::uint64_t start_time_of(pid_t pid) {
  if (pid <= 0) return 0;
  const auto stat = process_stat(pid);
  return stat ? stat->start_time : 0;
}

bool has_ended(const UniqueFd& pidfd) {
  pollfd readable{pidfd.get(), POLLIN, 0};
  return ::poll(&readable, 1, 0) == 1;
}

Task<void> process_exit(Loop& loop, UniqueFd pidfd) {
  FdStream process(loop, std::move(pidfd), "the process");
  co_await process.readable();
}

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

SignalWatch::SignalWatch(Loop& loop, std::initializer_list<int> signals, std::function<void(int)> on_signal)
    : on_signal_(std::move(on_signal)) {
  for (const int signal : signals) {
    auto* handle = new uv_signal_t;
    uv_signal_init(loop.uv(), handle);
    handle->data = this;
    handles_.emplace_back(handle);
    uv_signal_start(
        handle,
        [](uv_signal_t* raised, int number) { static_cast<SignalWatch*>(raised->data)->on_signal_(number); },
        signal);
  }
}

}  // namespace farport::transport
