#include "router/agent/runtimes/process_root.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/process_stat.hpp"

namespace farport::router {
namespace {

constexpr int kOpenRoot = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

/// The namespace of a kind that a process is in; empty if that can't be read. `process` is /proc/PID, open.
std::string namespace_of(int process, const std::string& kind) {
  std::array<char, 64> text{};
  const ssize_t size = ::readlinkat(process, ("ns/" + kind).c_str(), text.data(), text.size());
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : std::string();
}

}  // namespace

Result<ProcessRoot> ProcessRoot::open(pid_t pid) {
  const std::string path = directory_of_process(pid);
  UniqueFd process(::open(path.c_str(), kOpenRoot));
  if (!process) return fail_errno("inspect", path, errno);
  UniqueFd root(::openat(process.get(), "root", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return fail_errno("inspect", path + "/root", errno);
  return ProcessRoot(std::move(process), std::move(root));
}

std::optional<bool> ProcessRoot::shares(const std::string& kind) const {
  const UniqueFd self(::open("/proc/self", kOpenRoot));
  const std::string own = self ? namespace_of(self.get(), kind) : std::string();
  const std::string theirs = namespace_of(process_.get(), kind);
  if (own.empty() || theirs.empty()) return std::nullopt;
  return own == theirs;
}

bool ProcessRoot::is_ours() const {
  struct stat own {};
  struct stat theirs {};
  return shares("mnt") == true && ::stat("/", &own) == 0 && ::fstat(root_.get(), &theirs) == 0 &&
         own.st_dev == theirs.st_dev && own.st_ino == theirs.st_ino;
}

std::string ProcessRoot::program_directory() const {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = ::readlinkat(process_.get(), "exe", path.data(), path.size());
  return size > 0 ? directory_of(std::string(path.data(), static_cast<std::size_t>(size))) : std::string();
}

Result<void> ProcessRoot::enter() {
  if (::fchdir(root_.get()) != 0 || ::chroot(".") != 0) return fail_errno("enter", "its root", errno);
  entered_ = true;
  return {};
}

UniqueFd ProcessRoot::open_beneath(const std::string& path, int flags, std::uint64_t resolve) const {
  const std::size_t start = path.find_first_not_of('/');
  const std::string inside = start == std::string::npos ? "." : path.substr(start);
  if (entered_) return UniqueFd(::openat(root_.get(), inside.c_str(), flags));
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = resolve;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, root_.get(), inside.c_str(), &how, sizeof how)));
}

std::string ProcessRoot::path_of(int file, const std::string& path) const {
  return entered_ ? path : "/proc/self/fd/" + std::to_string(file);
}

namespace {

constexpr std::size_t kMaxMap = 4096;
constexpr std::size_t kMaxProfile = 128;
constexpr std::string_view kUnconfined = "unconfined";

std::string user(uid_t id) {
  return "user " + std::to_string(id);
}

bool has(const ProcessCredentials& credentials, int capability) {
  return (credentials.capabilities >> static_cast<unsigned>(capability) & 1U) != 0;
}

Error refused(const std::string& on, std::string why, std::string hint) {
  return {"inspect", on, std::move(why), std::move(hint), Cause(EACCES)};
}

std::string as_user(const ProcessCredentials& process) {
  return "run farport as " + user(process.user) + " (in a pod: the same runAsUser)";
}

constexpr const char* kAddPtrace =
    "give farport the capability CAP_SYS_PTRACE (in a pod: capabilities.add; docker and podman: --cap-add)";

std::string name_of_profile(const std::string& profile) {
  return profile.empty() ? "without a profile" : "under the profile " + profile;
}

}  // namespace

ProcessCredentials credentials_of(pid_t pid) {
  ProcessCredentials credentials;
  if (const auto status = process_status(pid)) {
    credentials.user = status->user;
    credentials.group = status->group;
    credentials.capabilities = status->capabilities;
  }
  const std::string directory = directory_of_process(pid);
  credentials.users = read_limited(directory + "/uid_map", kMaxMap).value_or("");
  credentials.apparmor = read_limited(directory + "/attr/apparmor/current", kMaxProfile).value_or("");
  while (!credentials.apparmor.empty() && credentials.apparmor.back() <= ' ') credentials.apparmor.pop_back();
  if (credentials.apparmor.starts_with(kUnconfined)) credentials.apparmor.clear();
  return credentials;
}

Error explain_refusal(const std::string& on, const ProcessCredentials& own,
                      const ProcessCredentials& process) {
  const bool may_trace = has(own, CAP_SYS_PTRACE);
  if (!may_trace && own.user != process.user) {
    if (own.user != 0) {
      return refused(on, "it belongs to " + user(process.user) + " and farport runs as " + user(own.user),
                     as_user(process) + ", or as root with CAP_SYS_PTRACE");
    }
    return refused(on,
                   "it belongs to " + user(process.user) +
                       ", and farport runs as user 0 without the capability CAP_SYS_PTRACE",
                   kAddPtrace + std::string(", or ") + as_user(process));
  }
  if (!may_trace && own.group != process.group) {
    return refused(
        on,
        "it runs as group " + std::to_string(process.group) + " and farport as group " +
            std::to_string(own.group) + ", and the kernel wants both user and group to be the same",
        "run farport as group " + std::to_string(process.group) + " (in a pod: the same runAsGroup)");
  }
  if (!own.users.empty() && !process.users.empty() && own.users != process.users) {
    return refused(on, "it is in another user namespace, in which farport has no rights",
                   "run farport in that user namespace, or as root outside of it");
  }
  if (!may_trace && (process.capabilities & ~own.capabilities) != 0) {
    return refused(on, "it has capabilities that farport lacks, and farport has no CAP_SYS_PTRACE",
                   kAddPtrace);
  }
  if (own.apparmor != process.apparmor) {
    return refused(on,
                   "AppArmor keeps farport (" + name_of_profile(own.apparmor) + ") from it (" +
                       name_of_profile(process.apparmor) + ")",
                   "run both under one profile, or let farport's read it (AppArmor: ptrace (read))");
  }
  return refused(
      on,
      may_trace ? "a security module (Landlock, AppArmor, SELinux) keeps farport from it"
                : "it doesn't let itself be looked at (it isn't dumpable), or a security module (Landlock, "
                  "SELinux) keeps farport from it",
      kAddPtrace + std::string(", and start it outside of other programs' sandboxes"));
}

Error explain_lost_socket(const std::string& on, const std::string& path, int error,
                          const ProcessCredentials& own, const ProcessCredentials& process) {
  Error lost{"use the socket of", on, {}, {}, Cause(error)};
  if (error == EACCES || error == EPERM) {
    const bool powerless_root = own.user == 0 && !has(own, CAP_DAC_OVERRIDE);
    lost.why = "farport, as " + user(own.user) +
               (powerless_root ? " without the capability CAP_DAC_OVERRIDE" : "") +
               ", may not reach its socket " + path;
    lost.hint = (powerless_root ? "give farport that capability, or " : "") + as_user(process);
  } else if (error == ENOENT || error == ENOTDIR) {
    lost.why = "its socket " + path + " is not there: it has been removed, or something is mounted over it";
    lost.hint = "start the application again";
  } else {
    lost.why = "its socket " + path + " can't be used: " + std::strerror(error);
  }
  return lost;
}

}  // namespace farport::router
