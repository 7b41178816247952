#include "transport/child_process.hpp"

#include <csignal>
#include <tuple>
#include <utility>

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/process_stat.hpp"
#include "transport/fd_stream.hpp"

namespace farport::transport {
namespace {

/// How long a process may take to clean up. One that reads a password restores the terminal's echo.
constexpr std::uint64_t kUntilKilledMs = 100;

/// A process whose owner is gone. It deletes itself once the process has ended.
struct Leftover {
  OwnedHandle<uv_process_t> process;
  OwnedHandle<uv_timer_t> timer;
  bool killed = false;
};

}  // namespace

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(Loop& loop, Start start) {
  auto child = std::make_unique<ChildProcess>(loop);
  std::vector<char*> argv = pointers_to(start.arguments);
  std::vector<char*> envp = pointers_to(start.environment);
  std::array<uv_stdio_container_t, 3> stdio{};
  for (std::size_t i = 0; i < stdio.size(); ++i) {
    stdio[i].flags = UV_INHERIT_FD;
    stdio[i].data.fd = start.streams[i];
  }
  uv_process_options_t options{};
  options.file = argv[0];
  options.args = argv.data();
  options.env = start.environment.empty() ? nullptr : envp.data();
  options.stdio = stdio.data();
  options.stdio_count = static_cast<int>(stdio.size());
  options.exit_cb = [](uv_process_t* process, std::int64_t status, int signal) {
    auto* self = static_cast<ChildProcess*>(process->data);
    self->exit_code_ = signal != 0 ? kKilledBySignal + signal : static_cast<int>(status);
    self->ended_.set();
  };
  // uv_spawn() initialises the handle before it can fail, so the handle must be closed on failure too.
  child->process_.reset(new uv_process_t{});
  child->process_->data = child.get();
  const int result = uv_spawn(loop.uv(), child->process_.get(), &options);
  if (result == 0) return child;
  child->exit_code_ = 0;
  return fail_errno("start", start.arguments[0], -result);
}

Task<int> ChildProcess::wait() {
  while (!exit_code_) co_await ended_.wait();
  co_return *exit_code_;
}

void ChildProcess::signal(int number) {
  if (!exit_code_) uv_process_kill(process_.get(), number);
}

ChildProcess::~ChildProcess() {
  if (!exit_code_) terminate_detached(loop_, std::move(process_), SIGTERM);
}

void terminate_detached(Loop& loop, OwnedHandle<uv_process_t> process, int signal) {
  uv_process_kill(process.get(), signal);
  auto leftover = std::make_unique<Leftover>();
  leftover->process = std::move(process);
  leftover->process->data = leftover.get();
  leftover->process->exit_cb = [](uv_process_t* ended, std::int64_t, int) {
    delete static_cast<Leftover*>(ended->data);
  };
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
          uv_process_kill(self->process.get(), SIGKILL);
        }
      },
      kUntilKilledMs, kUntilKilledMs);
  // The process handle's data points to it from here on, and its callbacks delete it.
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
