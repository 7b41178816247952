#include "router/agent/runtimes/process_root.hpp"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace farport::router {
namespace {

constexpr int kOpenRoot = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

/// Which namespace of a kind a process is in; empty where that can't be seen. `process` is /proc/PID.
std::string namespace_of(int process, const std::string& kind) {
  std::array<char, 64> text{};
  const ssize_t size = ::readlinkat(process, ("ns/" + kind).c_str(), text.data(), text.size());
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : std::string();
}

}  // namespace

Result<ProcessRoot> ProcessRoot::open(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid);
  UniqueFd process(::open(path.c_str(), kOpenRoot));
  if (!process) return fail_errno("look into", path, errno);
  UniqueFd root(::openat(process.get(), "root", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return fail_errno("look into", path + "/root", errno);
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

}  // namespace farport::router
