#include "cli/setup/own_directory.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "router/mirror/mirrored_runtime.hpp"

namespace farport::cli {
namespace {

constexpr std::string_view kRunPrefix = "farport-run-";
/// Length of the slash before the name and of mkdtemp(3)'s random part.
constexpr std::size_t kRandomPart = 7;

bool is_usable(const char* directory) {
  return directory != nullptr && directory[0] == '/' && ::access(directory, W_OK | X_OK) == 0 &&
         router::has_room_for_sockets(std::string(directory), kRunPrefix.size() + kRandomPart);
}

std::string base_directory() {
  for (const char* variable : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    const char* value = std::getenv(variable);
    if (is_usable(value)) return value;
  }
  return "/tmp";
}

}  // namespace

Result<std::unique_ptr<router::OwnedDirectory>> make_private_directory() {
  return router::OwnedDirectory::make(base_directory(), kRunPrefix);
}

namespace {

/// Whether a directory belongs to this user and has no permissions in `forbidden`.
bool is_own(const struct stat& status, mode_t forbidden) {
  return S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() && (status.st_mode & forbidden) == 0;
}

/// The user's run-time directory; empty if there is none. Checks the owner, since XDG_RUNTIME_DIR may be
/// another user's: sudo keeps it.
std::string runtime_directory() {
  const char* named = std::getenv("XDG_RUNTIME_DIR");
  for (const std::string& path :
       {std::string(named == nullptr ? "" : named), "/run/user/" + std::to_string(::geteuid())}) {
    struct stat status {};
    if (path.starts_with('/') && ::lstat(path.c_str(), &status) == 0 && is_own(status, 022)) return path;
  }
  return {};
}

}  // namespace

Result<std::string> own_directory() {
  const std::string base = runtime_directory();
  return own_directory_at(base.empty() ? "/tmp/farport-" + std::to_string(::geteuid()) : base + "/farport");
}

Result<std::string> own_directory_at(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail_errno("make the directory", path, errno, "set XDG_RUNTIME_DIR to a directory of your own");
  }
  RETURN_IF_ERROR(open_own_directory(path));
  return path;
}

Result<UniqueFd> open_own_directory(const std::string& path) {
  UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (directory && ::fstat(directory.get(), &status) == 0 && is_own(status, 077)) return directory;
  return fail("use the directory", path, "it is not yours alone",
              "remove it, or set XDG_RUNTIME_DIR to a directory of your own");
}

}  // namespace farport::cli
