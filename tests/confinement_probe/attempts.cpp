#include "tests/confinement_probe/attempts.hpp"

#include <cerrno>
#include <cstring>
#include <thread>

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

namespace farport::probe {
namespace {

constexpr std::size_t kPage = 4096;

int error_of(long result) {
  return result < 0 ? errno : 0;
}

int open_and_close(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  const int error = error_of(fd);
  if (fd >= 0) ::close(fd);
  return error;
}

int list(const std::string& path) {
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return errno;
  errno = 0;
  const int error = ::readdir(directory) == nullptr ? errno : 0;
  ::closedir(directory);
  return error;
}

/// As a dump is taken in and kept: a private directory, a file in it, out into the shared one, and away.
int exchange(const std::string& directory) {
  const std::string own = directory + "/private";
  const std::string file = directory + "/others-file";
  if (::mkdir(own.c_str(), 0700) != 0) return errno;
  if (::rename(file.c_str(), (own + "/dump").c_str()) != 0) return errno;
  if (const int error = open_and_close(own + "/dump", O_RDONLY); error != 0) return error;
  if (::rename((own + "/dump").c_str(), file.c_str()) != 0) return errno;
  if (::unlink(file.c_str()) != 0) return errno;
  return error_of(::rmdir(own.c_str()));
}

int connect_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const int error = error_of(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address));
  ::close(fd);
  return error;
}

int new_socket(int family, int type) {
  const int fd = ::socket(family, type, 0);
  const int error = error_of(fd);
  if (fd >= 0) ::close(fd);
  return error;
}

int connect_tcp(int fd) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(9);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return error_of(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address));
}

int run_thread() {
  try {
    int ran = EIO;
    std::thread thread([&ran] { ran = 0; });
    thread.join();
    return ran;
  } catch (const std::system_error& error) {
    return error.code().value();
  }
}

int new_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  return error_of(child);
}

int execute() {
  char name[] = "/bin/true";
  char* const arguments[] = {name, nullptr};
  char* const environment[] = {nullptr};
  ::execve(name, arguments, environment);
  return errno;
}

int code_in_new_memory() {
  void* page = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? errno : 0;
}

int code_in_old_memory() {
  void* page = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return 0;
  return error_of(::mprotect(page, kPage, PROT_READ | PROT_EXEC));
}

int raise_limit() {
  const rlimit limit{16, 16};
  return error_of(::setrlimit(RLIMIT_NOFILE, &limit));
}

int signal_other(pid_t other) {
  constexpr int kNone = 0;
  return error_of(::syscall(SYS_tgkill, other, other, kNone));
}

/// By number, with arguments that mean nothing: the filter looks at the number alone.
Attempt bare_call(const char* name, long number) {
  return {name, [number] { return error_of(::syscall(number, 0, 0, 0, 0, 0)); }};
}

}  // namespace

void prepare(const Places& places) {
  for (const std::string& directory : {places.readable, places.outside}) {
    open_and_close(directory + "/file", O_WRONLY | O_CREAT);
  }
  open_and_close(places.exchanged + "/others-file", O_WRONLY | O_CREAT);
}

std::vector<Attempt> attempts(const Places& places) {
  return {
      {"read", [=] { return open_and_close(places.readable + "/file", O_RDONLY); }},
      {"write", [=] { return open_and_close(places.writable + "/new", O_WRONLY | O_CREAT | O_APPEND); }},
      {"exchange", [=] { return exchange(places.exchanged); }},
      {"list-outside", [=] { return list(places.outside); }},
      {"connect-unix", [=] { return connect_unix(places.sockets); }},
      {"thread", run_thread},
      {"pidfd", [=] { return error_of(::syscall(SYS_pidfd_open, places.other, 0)); }},
      {"inotify", [] { return error_of(::inotify_init1(IN_CLOEXEC)); }},
      {"read-outside", [=] { return open_and_close(places.outside + "/file", O_RDONLY); }},
      {"read-shadow", [] { return open_and_close("/etc/shadow", O_RDONLY); }},
      {"write-readable", [=] { return open_and_close(places.readable + "/file", O_WRONLY); }},
      {"write-exchanged", [=] { return open_and_close(places.exchanged + "/mine", O_WRONLY | O_CREAT); }},
      {"write-outside", [=] { return open_and_close(places.outside + "/new", O_WRONLY | O_CREAT); }},
      {"remove-outside", [=] { return error_of(::unlink((places.outside + "/file").c_str())); }},
      {"memory-of-other",
       [=] { return open_and_close("/proc/" + std::to_string(places.other) + "/mem", O_RDONLY); }},
      {"root-of-other", [=] { return list("/proc/" + std::to_string(places.other) + "/root"); }},
      {"connect-tcp", [=] { return connect_tcp(places.tcp); }},
      {"socket-inet", [] { return new_socket(AF_INET, SOCK_STREAM); }},
      {"socket-netlink", [] { return new_socket(AF_NETLINK, SOCK_RAW); }},
      {"socket-packet", [] { return new_socket(AF_PACKET, SOCK_RAW); }},
      {"listen", [=] { return error_of(::listen(places.tcp, 1)); }},
      {"execve", execute},
      {"fork", new_process},
      {"mmap-exec", code_in_new_memory},
      {"mprotect-exec", code_in_old_memory},
      {"dumpable", [] { return error_of(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)); }},
      {"mount", [] { return error_of(::mount("none", "/mnt", "tmpfs", 0, nullptr)); }},
      {"ptrace", [=] { return error_of(::ptrace(PTRACE_ATTACH, places.other, nullptr, nullptr)); }},
      {"unshare", [] { return error_of(::syscall(SYS_unshare, 0)); }},
      bare_call("setns", SYS_setns),
      bare_call("init_module", SYS_init_module),
      bare_call("kexec_load", SYS_kexec_load),
      bare_call("keyctl", SYS_keyctl),
      bare_call("bpf", SYS_bpf),
      bare_call("userfaultfd", SYS_userfaultfd),
      bare_call("perf_event_open", SYS_perf_event_open),
      bare_call("io_uring_setup", SYS_io_uring_setup),
      bare_call("process_vm_readv", SYS_process_vm_readv),
      bare_call("memfd_create", SYS_memfd_create),
      bare_call("kill", SYS_kill),
      {"signal-other", [=] { return signal_other(places.other); }},
      // These change what comes after them.
      {"setrlimit", raise_limit},
      bare_call("chroot", SYS_chroot),
      {"setuid", [] { return error_of(::setresuid(1, 1, 1)); }},
  };
}

std::vector<Promise> promises() {
  return {
      {"read files in the directories that its configuration names", {"read"}},
      {"read other files", {"read-outside", "read-shadow"}},
      {"write the audit, make and remove files where dumps are", {"write", "exchange"}},
      {"write or remove other files",
       {"write-readable", "write-exchanged", "write-outside", "remove-outside"}},
      {"list directories", {"list-outside"}},
      {"enter another process's root", {"root-of-other"}},
      {"watch directories", {"inotify"}},
      {"connect to Unix sockets", {"connect-unix"}},
      {"connect by TCP, listen, make sockets of a network",
       {"connect-tcp", "listen", "socket-inet", "socket-netlink", "socket-packet"}},
      {"start a thread", {"thread"}},
      {"start a copy of itself", {"fork"}},
      {"start a program", {"execve"}},
      {"run code in new memory", {"mmap-exec", "mprotect-exec"}},
      {"let others read its memory", {"dumpable"}},
      {"hold another process by a pidfd", {"pidfd"}},
      {"send another process a signal", {"signal-other"}},
      {"read another process's memory", {"memory-of-other"}},
      {"hold another process as a debugger does", {"ptrace", "process_vm_readv"}},
      {"open the kernel's counters", {"perf_event_open"}},
      {"change its limits", {"setrlimit"}},
      {"become another user, change its root", {"setuid", "chroot"}},
      {"mount, namespaces, modules, kexec, keys, BPF, userfaultfd, io_uring, files in memory, kill(2)",
       {"mount", "unshare", "setns", "init_module", "kexec_load", "keyctl", "bpf", "userfaultfd",
        "io_uring_setup", "memfd_create", "kill"}},
  };
}

}  // namespace farport::probe
