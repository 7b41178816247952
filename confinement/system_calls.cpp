#include "confinement/system_calls.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <initializer_list>
#include <memory>

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/process_stat.hpp"

#ifdef FARPORT_INSTRUMENTED
#include "confinement/instrumented.hpp"
#endif

namespace farport::confinement {
namespace {

struct FilterRelease {
  void operator()(void* filter) const { ::seccomp_release(filter); }
};
using Filter = std::unique_ptr<void, FilterRelease>;

/// By name; those that an architecture lacks are left out.
constexpr std::array kAllowed{
    // Sockets and pipes.
    "accept", "accept4", "connect", "getpeername", "getsockname", "getsockopt", "pipe2", "recvfrom",
    "recvmmsg", "recvmsg", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown",
    // The loop.
    "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd2",
    "inotify_add_watch", "inotify_init1", "inotify_rm_watch", "poll", "ppoll",
    // Files.
    "access", "close", "close_range", "dup", "dup3", "faccessat", "faccessat2", "fadvise64", "fchmod",
    "fchmodat", "fchown", "fcntl", "fcntl64", "flock", "fstat", "fstat64", "fstatfs", "fstatfs64", "fsync",
    "ftruncate", "getcwd", "getdents64", "lseek", "lstat", "mkdir", "mkdirat", "mknod", "mknodat",
    "newfstatat", "open", "openat", "openat2", "pread64", "preadv", "pwrite64", "pwritev", "read", "readlink",
    "readlinkat", "readv", "rename", "renameat", "renameat2", "rmdir", "stat", "statfs", "statx", "unlink",
    "unlinkat", "utimensat", "write", "writev",
    // Memory.
    "brk", "madvise", "membarrier", "mremap", "munmap",
    // Threads, signals and time.
    "clock_getres", "clock_gettime", "clock_nanosleep", "exit", "exit_group", "futex", "futex_waitv",
    "get_robust_list", "getcpu", "gettimeofday", "nanosleep", "restart_syscall", "rseq", "rt_sigaction",
    "rt_sigpending", "rt_sigprocmask", "rt_sigreturn", "rt_sigtimedwait", "sched_getaffinity", "sched_yield",
    "set_robust_list", "sigaltstack", "tgkill", "time",
    // Ids, system information, and other processes.
    "getegid", "geteuid", "getgid", "getpgrp", "getpid", "getppid", "getrandom", "getrlimit", "getrusage",
    "gettid", "getuid", "pidfd_open", "pidfd_send_signal", "sysinfo", "uname", "waitid"};

/// The same for a process that samples others.
constexpr std::array kSampling{
    // Receiving the agent's requests and writing results.
    "pipe2", "poll", "ppoll", "recvmsg", "sendmsg",
    // Files.
    "access", "close", "close_range", "fcntl", "fcntl64", "fstat", "fstat64", "fstatfs", "fstatfs64",
    "getdents64", "getxattr", "lseek", "newfstatat", "pread64", "read", "readlink", "readlinkat", "readv",
    "stat", "statx", "write", "writev",
    // Memory.
    "brk", "madvise", "mremap", "munmap",
    // Sampling, and starting processes for it.
    "alarm", "capget", "capset", "perf_event_open", "seccomp", "setitimer", "tgkill", "wait4",
    // Threads, signals and time.
    "clock_gettime", "clock_nanosleep", "exit", "exit_group", "futex", "gettimeofday", "nanosleep",
    "restart_syscall", "rseq", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sched_getaffinity",
    "sched_yield", "set_robust_list", "sigaltstack",
    // Ids and system information.
    "getegid", "geteuid", "getgid", "getpid", "getppid", "getrandom", "getrlimit", "gettid", "getuid",
    "sysinfo", "uname"};

/// The same for a process that only reads open files.
constexpr std::array kParsing{
    "brk",    "clock_gettime", "close",           "exit",         "exit_group", "fstat",  "fstat64", "futex",
    "getpid", "getrandom",     "gettid",          "lseek",        "madvise",    "mremap", "munmap",  "poll",
    "ppoll",  "pread64",       "restart_syscall", "rt_sigreturn", "read",       "write"};

/// Additional ones for a process that starts such processes.
constexpr std::array kStarting{"capget",         "capset",          "getppid", "recvmsg", "rt_sigaction",
                               "rt_sigprocmask", "set_robust_list", "seccomp", "rseq"};

/// Requests of ioctl(2) by libuv and the log, for checking whether the terminal still exists, and for how a
/// process has ended.
constexpr std::array<scmp_datum_t, 7> kControls{FIONBIO,  FIOCLEX,    FIONREAD,     TCGETS,
                                                TIOCGSID, TIOCGWINSZ, kPidfdGetInfo};

/// Adds rules to a filter, and remembers the first error.
class Rules {
 public:
  explicit Rules(scmp_filter_ctx filter) : filter_(filter) {}

  void allow(const char* name) { allow(name, {}); }
  void allow(const char* name, std::initializer_list<scmp_arg_cmp> arguments) {
    const int number = ::seccomp_syscall_resolve_name(name);
    // An older library may not know the name.
    if (number == __NR_SCMP_ERROR || failed_ != 0) return;
    failed_ = ::seccomp_rule_add_array(filter_, SCMP_ACT_ALLOW, number,
                                       static_cast<unsigned>(arguments.size()), arguments.begin());
  }
  /// The first error as a positive errno value; 0 if there was none.
  [[nodiscard]] int failed() const { return -failed_; }

 private:
  scmp_filter_ctx filter_;
  int failed_ = 0;
};

scmp_arg_cmp equals(unsigned argument, scmp_datum_t value) {
  return {argument, SCMP_CMP_EQ, value, 0};
}

/// Matches if the bits of `mask` equal those of `value`.
scmp_arg_cmp masked(unsigned argument, scmp_datum_t mask, scmp_datum_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

/// Allows memory for data, but no new executable memory. `refused`: forbidden flags of mmap(2).
void allow_data(Rules& rules, scmp_datum_t refused = 0) {
  for (const char* name : {"mmap", "mmap2"})
    rules.allow(name, {masked(2, PROT_EXEC, 0), masked(3, refused, 0)});
  rules.allow("mprotect", {masked(2, PROT_EXEC, 0)});
}

/// Allows reads of open files, private memory, which is limited, and signals to itself, but nothing that
/// makes the kernel send signals to others.
void allow_parsing(Rules& rules) {
  allow_data(rules, MAP_SHARED);
  for (const char* name : {"fcntl", "fcntl64"}) {
    for (const scmp_datum_t asked : {F_GETFD, F_GETFL}) rules.allow(name, {equals(1, asked)});
  }
  rules.allow("newfstatat", {masked(3, AT_EMPTY_PATH, AT_EMPTY_PATH)});
  rules.allow("statx", {masked(2, AT_EMPTY_PATH, AT_EMPTY_PATH)});
  rules.allow("tgkill", {equals(0, static_cast<scmp_datum_t>(::getpid()))});
}

constexpr scmp_datum_t kSpaces =
    CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

/// Allows forking, limits for children, and files to read.
void allow_starting(Rules& rules) {
  allow_data(rules);
  for (const char* name : kStarting) rules.allow(name);
  rules.allow("clone", {masked(0, CLONE_THREAD | kSpaces, 0)});
  rules.allow("prlimit64", {equals(0, 0)});
  for (const scmp_datum_t option : {PR_SET_NAME, PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP}) {
    rules.allow("prctl", {equals(0, option)});
  }
  constexpr scmp_datum_t kChanging = O_ACCMODE | O_CREAT | O_TRUNC;
  rules.allow("open", {masked(1, kChanging, O_RDONLY)});
  rules.allow("openat", {masked(2, kChanging, O_RDONLY)});
}

/// Allows sampling. openat2(2) has its arguments in memory, where a filter can't check them, so a root
/// process does without it and confines its children to one file system. Others can only change their own
/// user's files.
void allow_sampling(Rules& rules, bool as_root) {
  allow_starting(rules);
  if (as_root) {
    for (const char* name :
         {"chroot", "fchdir", "getresgid", "getresuid", "setgroups", "setresgid", "setresuid"})
      rules.allow(name);
    rules.allow("prctl", {equals(0, PR_SET_KEEPCAPS)});
  } else {
    rules.allow("openat2");
  }
  rules.allow("ioctl", {equals(1, PERF_EVENT_IOC_SET_OUTPUT)});
}

void allow_serving(Rules& rules, bool dials) {
  rules.allow("socket", {equals(0, AF_UNIX)});
  rules.allow("socketpair", {equals(0, AF_UNIX)});
  if (dials) {
    rules.allow("socket", {equals(0, AF_INET)});
    rules.allow("socket", {equals(0, AF_INET6)});
  }
  // Threads for the thread pool, but no processes. clone3(2) has its flags in memory, where a filter can't
  // check them; glibc works without it.
  rules.allow("clone", {masked(0, CLONE_THREAD | kSpaces, CLONE_THREAD)});
  allow_data(rules);
  // Limits may be read, not set.
  rules.allow("prlimit64", {equals(2, 0)});
  rules.allow("prctl", {equals(0, PR_SET_NAME)});
  rules.allow("prctl", {equals(0, PR_GET_NAME)});
  for (const scmp_datum_t control : kControls) rules.allow("ioctl", {equals(1, control)});
}

template <typename Names>
void allow_all(Rules& rules, const Names& names) {
  for (const char* name : names) rules.allow(name);
}

void allow_for(Rules& rules, Purpose purpose) {
  switch (purpose) {
    case Purpose::serving:
    case Purpose::dialling:
      allow_all(rules, kAllowed);
      return allow_serving(rules, purpose == Purpose::dialling);
    case Purpose::sampling:
    case Purpose::sampling_as_root:
      allow_all(rules, kSampling);
      return allow_sampling(rules, purpose == Purpose::sampling_as_root);
    case Purpose::starting_readers:
      allow_all(rules, kParsing);
      for (const char* name : {"fcntl", "newfstatat", "statx", "tgkill"}) rules.allow(name);
      return allow_starting(rules);
    case Purpose::parsing:
      allow_all(rules, kParsing);
      return allow_parsing(rules);
  }
}

}  // namespace

std::string system_call_name(std::uint32_t number) {
  const std::unique_ptr<char, decltype(&std::free)> name(
      ::seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, static_cast<int>(number)), &std::free);
  return (name == nullptr ? "system call " + std::to_string(number) : std::string(name.get()) + "(2)");
}

Result<void> filter_system_calls(Purpose purpose) {
  const Filter filter(::seccomp_init(SCMP_ACT_ERRNO(ENOSYS)));
  if (filter == nullptr) return fail("filter", "system calls", "libseccomp has no memory for it");
  // 32-bit calls, which this program never makes.
  std::ignore = ::seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  // A tree instead of a list, so that fewer rules are checked.
  std::ignore = ::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  Rules rules(filter.get());
  allow_for(rules, purpose);
#ifdef FARPORT_INSTRUMENTED
  allow_all(rules, kInstrumentCalls);
#endif
  if (rules.failed() != 0) return fail_errno("filter", "system calls", rules.failed());
  const int failed = ::seccomp_load(filter.get());
  if (failed != 0) return fail_errno("filter", "system calls", -failed, "does this kernel have seccomp?");
  return {};
}

}  // namespace farport::confinement
