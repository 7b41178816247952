#include "router/mirror/owned_directory.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.hpp"

namespace farport::router {
namespace {

constexpr char kMark[] = ".farport-owned";
/// Limit of entries examined: other users may make many directories with such names in a shared /tmp.
constexpr std::size_t kMaxLookedAt = 1000;

UniqueFd open_directory(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool is_own(const UniqueFd& directory) {
  struct stat status {};
  return ::fstat(directory.get(), &status) == 0 && status.st_uid == ::geteuid() &&
         (status.st_mode & 0777) == 0700;
}

bool has_mark(const UniqueFd& directory) {
  struct stat status {};
  return ::fstatat(directory.get(), kMark, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
         status.st_uid == ::geteuid() && status.st_size == 0;
}

/// Removes the contents of the open directory, even if its path leads elsewhere by now, and then the
/// directory.
void remove(const UniqueFd& directory, const std::string& path) {
  const std::string inside = "/proc/self/fd/" + std::to_string(directory.get());
  std::error_code ignored;
  for (const std::string& name : entries_of(inside)) {
    if (name != kMark) std::filesystem::remove_all(inside + "/" + name, ignored);
  }
  // Last, so that after a partial removal the directory is still recognised.
  ::unlinkat(directory.get(), kMark, 0);
  if (is_at(directory.get(), path)) ::rmdir(path.c_str());
}

void remove_if_abandoned(const std::string& path) {
  const UniqueFd directory = open_directory(path);
  if (directory && is_own(directory) && has_mark(directory) &&
      ::flock(directory.get(), LOCK_EX | LOCK_NB) == 0) {
    remove(directory, path);
  }
}

void remove_abandoned(const std::string& base, std::string_view prefix) {
  for (const std::string& name : entries_of(base, prefix, kMaxLookedAt)) {
    remove_if_abandoned(base + "/" + name);
  }
}

}  // namespace

Result<std::unique_ptr<OwnedDirectory>> OwnedDirectory::make(const std::string& base,
                                                             std::string_view prefix) {
  constexpr char kTried[] = "make the directory";
  remove_abandoned(base, prefix);
  std::string path = base + "/" + std::string(prefix) + "XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return fail_errno(kTried, path, errno);
  UniqueFd directory = open_directory(path);
  // Locked before it is marked, since a marked directory without a lock counts as abandoned.
  if (!directory || ::flock(directory.get(), LOCK_EX | LOCK_NB) != 0) {
    const auto failed = fail_errno(kTried, path, errno);
    ::rmdir(path.c_str());
    return failed;
  }
  auto owned = std::make_unique<OwnedDirectory>(std::move(path), std::move(directory));
  const UniqueFd mark(
      ::openat(owned->fd_.get(), kMark, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!mark) return fail_errno(kTried, owned->path(), errno);
  return owned;
}

OwnedDirectory::~OwnedDirectory() {
  remove(fd_, path_);
}

}  // namespace farport::router
