#include "router/helpers/helper_process.hpp"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/resources.hpp"
#include "router/helpers/passed_message.hpp"
#include "transport/child_process.hpp"
#include "transport/event.hpp"

namespace farport::router {
namespace {

static_assert(HelperProcess::kMaxDescriptors + 1 <= kMaxPassed);

/// Has the kernel kill this process once nobody can write to the pipe any more (fcntl(2), F_SETSIG).
void end_with_lifeline(int lifeline) {
  std::ignore = ::fcntl(lifeline, F_SETSIG, SIGKILL);
  std::ignore = ::fcntl(lifeline, F_SETOWN, ::getpid());
  std::ignore = ::fcntl(lifeline, F_SETFL, O_ASYNC | O_NONBLOCK);
  // The other end may have been closed before.
  char nothing = 0;
  if (::read(lifeline, &nothing, 1) == 0) ::_exit(0);
}

/// Closes all descriptors but one, which becomes the first after the standard ones.
int keep_only(int descriptor) {
  constexpr int kRequests = 3;
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, standard);
  ::dup2(descriptor, kRequests);
  ::close_range(kRequests + 1, ~0U, 0);
  return kRequests;
}

/// Forks a process for each request, until the agent is gone.
[[noreturn]] void serve(int requests, const HelperProcess::Work& work) {
  std::vector<char> request(HelperProcess::kMaxRequest);
  for (;;) {
    PassedMessage message = receive_passed(requests, request);
    if (message.bytes < 0 && errno == EMSGSIZE) continue;
    if (message.bytes <= 0) ::_exit(0);
    std::vector<UniqueFd> descriptors = std::move(message.descriptors);
    if (descriptors.empty()) continue;
    const pid_t self = ::getpid();
    // fork(2) would run handlers of libraries. They would use descriptors that are closed here, and whose
    // numbers now belong to other files.
    if (::_Fork() != 0) continue;
    end_with_parent(self);
    const UniqueFd lifeline = std::move(descriptors.back());
    descriptors.pop_back();
    end_with_lifeline(lifeline.get());
    ::close(requests);
    std::signal(SIGCHLD, SIG_DFL);
    try {
      work.run(std::string_view(request.data(), static_cast<std::size_t>(message.bytes)),
               std::move(descriptors));
    } catch (...) {
      // Don't run any code of the process that this one was forked from.
      ::_exit(1);
    }
    ::_exit(0);
  }
}

/// Like fork(2). But if an engine has put this process beside an application, the new process becomes the
/// engine's child as well, which waits for all of its own. Otherwise it would be reparented to the
/// application when this process is killed, and stay a zombie, since most applications wait for no children
/// that they did not start. This uses clone(2) with CLONE_PARENT, which glibc's fork() doesn't offer. glibc
/// does not know of it, so the process must have no threads.
pid_t fork_for_engine() {
  constexpr pid_t kOutside = 0;
  constexpr pid_t kFirst = 1;
  if (::getppid() != kOutside || ::getpid() == kFirst) return ::fork();
  return static_cast<pid_t>(::syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

[[noreturn]] void run_helper(int requests, pid_t agent, const HelperProcess::Work& work) {
  // Otherwise the end of the requests ends it.
  if (::getppid() != 0) end_with_parent(agent);
  ::prctl(PR_SET_NAME, work.name);
  // The agent decides when this process ends, since it may have to finish its connections.
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_IGN);
  // Nobody waits for the processes that do the work, nor for what they leave when they are killed. Beside an
  // application, the application would have to wait for them.
  std::signal(SIGCHLD, SIG_IGN);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const int kept = keep_only(requests);
  work.confine();
  // Give memory back, since this process mostly waits.
  release_unused_memory();
  serve(kept, work);
}

}  // namespace

std::uint64_t memory_for_helpers() {
  constexpr std::uint64_t kUsualMemory = std::uint64_t{2} << 30;
  return memory_limit().value_or(kUsualMemory) / 4;
}

Result<HelperProcess> HelperProcess::start(const Work& work) {
  ASSIGN_OR_RETURN(auto requests, make_socket_pair(SOCK_SEQPACKET));
  const pid_t self = ::getpid();
  const pid_t child = fork_for_engine();
  if (child < 0) return fail_errno("start", work.name, errno);
  if (child == 0) run_helper(requests.theirs.get(), self, work);
  return HelperProcess(work.name, std::move(requests.ours), transport::open_pidfd(child));
}

HelperProcess::~HelperProcess() {
  if (!process_ || ::syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0) != 0) return;
  while (::waitid(P_PIDFD, static_cast<id_t>(process_.get()), nullptr, WEXITED) < 0 && errno == EINTR) {
  }
}

bool HelperProcess::running() const {
  // On a kernel without pidfds, the end only shows at the next request.
  return !process_ || !transport::has_ended(process_);
}

transport::Task<void> HelperProcess::ended(transport::Loop& loop) const {
  if (!process_) {
    transport::Event never(loop);
    co_await never.wait();
  }
  co_await transport::process_exit(loop, UniqueFd(::fcntl(process_.get(), F_DUPFD_CLOEXEC, 0)));
}

Result<Lifeline> HelperProcess::begin(std::string_view request, std::vector<int> descriptors) const {
  ASSIGN_OR_RETURN(auto lifeline, make_pipe(O_CLOEXEC));
  descriptors.push_back(lifeline.reading.get());
  const int failed = send_passed(requests_.get(), request, descriptors);
  if (failed != 0) return fail_errno("reach the process", name_, failed, "start the agent again");
  return Lifeline(std::move(lifeline.reading), std::move(lifeline.writing));
}

}  // namespace farport::router
