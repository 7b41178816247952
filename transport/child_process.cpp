#include "transport/child_process.hpp"

#include <cerrno>

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unique_fd.hpp"

namespace farport::transport {
namespace {

/// How long a process may take to clean up: one that reads a password gives the terminal its echo back.
constexpr int kUntilKilledMs = 100;

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

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
  // uv_spawn() initialises the handle first of all, so that it is to be closed also where that fails.
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
  if (exit_code_) return;
  // Not reaped yet, so the pid is still this process's. Waited for here rather than in the loop, so that it
  // is gone also where the loop never runs again.
  const pid_t pid = process_->pid;
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  ::kill(pid, SIGTERM);
  pollfd ended{process.get(), POLLIN, 0};
  if (!process || ::poll(&ended, 1, kUntilKilledMs) <= 0) ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace farport::transport
