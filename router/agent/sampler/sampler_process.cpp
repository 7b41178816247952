#include "router/agent/sampler/sampler_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/resident_memory.hpp"
#include "router/agent/runtimes/port_processes.hpp"
#include "router/agent/runtimes/process_exit.hpp"
#include "router/agent/sampler/sampling.hpp"

namespace farport::router {
namespace {

/// The pidfd, where the samples go, and the control.
constexpr std::size_t kDescriptors = 3;

/// A request and its descriptors on their way (unix(7), SCM_RIGHTS).
class Letter {
 public:
  Letter() {
    header_.msg_iov = &part_;
    header_.msg_iovlen = 1;
    header_.msg_control = space_.data();
    header_.msg_controllen = space_.size();
  }
  Letter(const Letter&) = delete;
  Letter& operator=(const Letter&) = delete;

  void enclose(const std::array<int, kDescriptors>& descriptors) {
    cmsghdr* const control = CMSG_FIRSTHDR(&header_);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof descriptors);
    std::memcpy(CMSG_DATA(control), descriptors.data(), sizeof descriptors);
  }
  /// Those that came with it; none where it has others.
  [[nodiscard]] std::array<UniqueFd, kDescriptors> enclosed() {
    std::array<UniqueFd, kDescriptors> owned;
    const cmsghdr* const control = CMSG_FIRSTHDR(&header_);
    std::array<int, kDescriptors> descriptors{};
    if (control == nullptr || control->cmsg_len != CMSG_LEN(sizeof descriptors)) return owned;
    std::memcpy(descriptors.data(), CMSG_DATA(control), sizeof descriptors);
    for (std::size_t i = 0; i < kDescriptors; ++i) owned[i] = UniqueFd(descriptors[i]);
    return owned;
  }
  [[nodiscard]] msghdr& header() { return header_; }

  SamplingRequest request;

 private:
  iovec part_{&request, sizeof request};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kDescriptors)> space_{};
  msghdr header_{};
};

/// Ends with its parent, whatever ends that.
void end_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
}

/// Leaves nothing open but one descriptor, which becomes the first.
int keep_only(int descriptor) {
  constexpr int kRequests = 3;
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, standard);
  ::dup2(descriptor, kRequests);
  ::close_range(kRequests + 1, ~0U, 0);
  return kRequests;
}

void take(const SamplingRequest& request, std::array<UniqueFd, kDescriptors> descriptors) {
  const auto& [process, samples, control] = descriptors;
  run_sampling(request, process, samples, control);
}

/// Has each request seen to by a process of its own, until the agent has gone.
[[noreturn]] void serve(int requests) {
  for (;;) {
    Letter letter;
    const ssize_t got = ::recvmsg(requests, &letter.header(), MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) ::_exit(0);
    std::array<UniqueFd, kDescriptors> descriptors = letter.enclosed();
    if (got != sizeof letter.request || !descriptors[0]) continue;
    const pid_t self = ::getpid();
    if (::fork() != 0) continue;
    end_with(self);
    ::close(requests);
    std::signal(SIGCHLD, SIG_DFL);
    take(letter.request, std::move(descriptors));
    ::_exit(0);
  }
}

/// As fork(2). But where an engine has put this process beside an application, the new process is the
/// engine's child as well, which waits for all of its own. Otherwise it would become the application's if
/// this process is killed, and stay as a zombie: most applications wait for none. (clone(2), CLONE_PARENT.
/// glibc's fork() can't do it; without glibc's knowledge the process must have no threads.)
pid_t fork_for_engine() {
  constexpr pid_t kOutside = 0;
  constexpr pid_t kFirst = 1;
  if (::getppid() != kOutside || ::getpid() == kFirst) return ::fork();
  return static_cast<pid_t>(::syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

[[noreturn]] void be_sampler(int requests, pid_t agent, const std::function<void()>& confine) {
  // Else the end of the requests ends it.
  if (::getppid() != 0) end_with(agent);
  ::prctl(PR_SET_NAME, kSamplerName);
  // The agent decides when it is over: it may have to see its connections to their ends.
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_IGN);
  // Nobody waits for those who take profiles.
  std::signal(SIGCHLD, SIG_IGN);
  const int kept = keep_only(requests);
  confine();
  // It mostly waits.
  release_start_memory();
  serve(kept);
}

}  // namespace

Result<SamplerProcess> SamplerProcess::start(const std::function<void()>& confine) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail_errno("make", "a pair of sockets", errno);
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const pid_t self = ::getpid();
  const pid_t child = fork_for_engine();
  if (child < 0) return fail_errno("start", "the process that samples others", errno);
  if (child == 0) be_sampler(theirs.get(), self, confine);
  return SamplerProcess(std::move(ours), open_pidfd(child));
}

SamplerProcess::~SamplerProcess() {
  if (!process_ || ::syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0) != 0) return;
  while (::waitid(P_PIDFD, static_cast<id_t>(process_.get()), nullptr, WEXITED) < 0 && errno == EINTR) {
  }
}

bool SamplerProcess::running() const {
  return process_ && !has_ended(process_);
}

transport::Task<void> SamplerProcess::ended(transport::Loop& loop) const {
  return process_exit(loop, UniqueFd(::fcntl(process_.get(), F_DUPFD_CLOEXEC, 0)));
}

Result<SamplingEnds> SamplerProcess::begin(const SamplingRequest& request, const UniqueFd& process) const {
  std::array<int, 2> samples{};
  if (::pipe2(samples.data(), O_CLOEXEC | O_NONBLOCK) != 0) return fail_errno("make", "a pipe", errno);
  UniqueFd samples_read(samples[0]);
  const UniqueFd samples_write(samples[1]);
  std::array<int, 2> control{};
  if (::pipe2(control.data(), O_CLOEXEC) != 0) return fail_errno("make", "a pipe", errno);
  const UniqueFd control_read(control[0]);
  UniqueFd control_write(control[1]);
  Letter letter;
  letter.request = request;
  letter.enclose({process.get(), samples_write.get(), control_read.get()});
  if (::sendmsg(requests_.get(), &letter.header(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    return fail_errno("reach", "the process that samples others", errno, "start the agent again");
  }
  return SamplingEnds{std::move(samples_read), std::move(control_write)};
}

}  // namespace farport::router
