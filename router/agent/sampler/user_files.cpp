#include "router/agent/sampler/user_files.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <tuple>

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/resources.hpp"
#include "confinement/confinement.hpp"
#include "confinement/user.hpp"
#include "router/symbols/file_symbols.hpp"

namespace farport::router {
namespace {

/// A group that owns nothing.
constexpr gid_t kNogroup = 65534;
constexpr std::uint64_t kBeneath = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;

/// Gives up all rights but those of the user. If root, also enters the process's root: the process chooses
/// where paths lead, and must not reach more than it could open itself. Returns false if root may not become
/// another user.
bool become_reader(ProcessRoot& root, uid_t user) {
  const confinement::Capabilities becoming = confinement::capability(CAP_SETUID) |
                                             confinement::capability(CAP_SETGID) |
                                             confinement::capability(CAP_SYS_CHROOT);
  const bool may_become = (confinement::own_capabilities().value_or(0) & becoming) == becoming;
  // If this is not done, openat2(2) keeps paths beneath the root.
  if (::geteuid() == 0 && (may_become || user == 0)) std::ignore = root.enter();
  if (::geteuid() != 0 || user == 0) return confinement::keep_capabilities(0).has_value();
  if (!may_become) {
    std::ignore = confinement::keep_capabilities(0);
    return false;
  }
  struct stat process {};
  const bool known = ::fstat(root.process(), &process) == 0 && process.st_uid == user;
  const pid_t parent = ::getppid();
  const auto became = confinement::become({{}, user, known ? process.st_gid : kNogroup}, 0);
  // This process is in the other root by now, where it must not go on with more rights than the user's.
  if (!became) ::_exit(1);
  // Changing the user has cancelled the signal at the parent's end, so ask for it again.
  end_with_parent(parent);
  return true;
}

/// Whether a file's own permissions let the user read it.
bool lets_read(const struct stat& file, uid_t user) {
  return (file.st_mode & S_IROTH) != 0 || (file.st_uid == user && (file.st_mode & S_IRUSR) != 0);
}

}  // namespace

void end_if_stuck() {
  constexpr unsigned kSeconds = 60;
  std::signal(SIGALRM, SIG_DFL);
  ::alarm(kSeconds);
}

UserFiles::UserFiles(ProcessRoot& root, uid_t user)
    : root_(root), user_(user), is_user_(become_reader(root, user)) {}

UniqueFd UserFiles::open(const std::string& path, std::string& why) const {
  if (!is_user_) return open_checked(path, why);
  return regular_only(root_.open_beneath(path, kOpenAnything, kBeneath), why);
}

/// Checks the file's permissions before opening it.
UniqueFd UserFiles::open_checked(const std::string& path, std::string& why) const {
  const UniqueFd place = root_.open_beneath(path, O_PATH | O_CLOEXEC, kBeneath);
  struct stat file {};
  if (!place || ::fstat(place.get(), &file) != 0 || !lets_read(file, user_)) {
    why = std::strerror(place ? EACCES : errno);
    return {};
  }
  if (S_ISREG(file.st_mode))
    return UniqueFd(::open(fmt::format("/proc/self/fd/{}", place.get()).c_str(), kOpenAnything));
  why = "it is no regular file";
  return {};
}

}  // namespace farport::router
