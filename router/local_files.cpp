#include "router/local_files.hpp"

#include <cerrno>
#include <cstring>
#include <memory>
#include <sstream>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "router/directory.hpp"
#include "router/mirror_manifests.hpp"

namespace farport::router {
namespace {

using transport::UniqueFd;

constexpr std::size_t kMaxManifest = 1024 * 1024;

bool is_regular_file_of(int fd, uid_t owner) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == owner;
}

/// Whether the open file is still the one at `path`.
bool is_at(int fd, const std::string& path) {
  struct stat open {};
  struct stat there {};
  return ::fstat(fd, &open) == 0 && ::lstat(path.c_str(), &there) == 0 && open.st_ino == there.st_ino &&
         open.st_dev == there.st_dev;
}

std::string read_whole(int fd) {
  std::string text(kMaxManifest, '\0');
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

/// Removes what the manifest of a mirror lists, if that mirror is dead: it no longer holds the lock.
void clean_up_after(const std::string& manifest, const Log& log) {
  const UniqueFd fd(::open(manifest.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd || !is_regular_file_of(fd.get(), ::geteuid()) || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return;
  std::istringstream lines(read_whole(fd.get()));
  int removed = 0;
  for (std::string path; std::getline(lines, path);) removed += remove_stale_socket(path) ? 1 : 0;
  ::unlink(manifest.c_str());
  log->info("removed {} sockets that a mirror had left behind ({})", removed, manifest);
}

std::vector<std::string> manifests_in(const std::string& directory) {
  std::vector<std::string> found;
  const OpenDirectory entries(::opendir(directory.c_str()));
  if (entries == nullptr) return found;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name.starts_with(kManifestPrefix)) found.push_back(directory + "/" + std::string(name));
  }
  return found;
}

}  // namespace

bool remove_stale_socket(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode) || status.st_uid != ::geteuid())
    return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.data(), path.size());
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!probe) return false;
  const int result = ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (result == 0 || errno != ECONNREFUSED) return false;
  return ::unlink(path.c_str()) == 0;
}

Result<std::unique_ptr<LocalFiles>> LocalFiles::claim(std::string directory, const Log& log) {
  for (const std::string& manifest : manifests_in(directory)) clean_up_after(manifest, log);
  // A mirror may run several times in one process, as it does in tests: the first free number is taken.
  for (int attempt = 0;; ++attempt) {
    std::string manifest = directory + "/" + std::string(kManifestPrefix) + std::to_string(::getpid()) + "-" +
                           std::to_string(attempt);
    UniqueFd lock(::open(manifest.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!lock && errno == EEXIST && attempt < 100) continue;
    if (!lock) {
      return fail_errno("use the socket directory", directory, errno, "choose another one with --socket-dir");
    }
    // Another mirror that starts now may have taken it for a dead one's before it was locked.
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 || !is_at(lock.get(), manifest)) continue;
    return std::make_unique<LocalFiles>(std::move(directory), std::move(manifest), std::move(lock));
  }
}

LocalFiles::LocalFiles(std::string directory, std::string manifest, UniqueFd lock)
    : directory_(std::move(directory)), manifest_(std::move(manifest)), lock_(std::move(lock)) {}

LocalFiles::~LocalFiles() {
  for (const std::string& path : paths_) ::unlink(path.c_str());
  ::unlink(manifest_.c_str());
}

void LocalFiles::add(const std::string& path) {
  if (paths_.insert(path).second) append(path + "\n");
}

void LocalFiles::remove(const std::string& path) {
  if (paths_.erase(path) == 0) return;
  ::unlink(path.c_str());
  write_manifest();
}

void LocalFiles::write_manifest() {
  std::string text;
  for (const std::string& path : paths_) text += path + "\n";
  std::ignore = ::ftruncate(lock_.get(), 0);
  size_ = 0;
  append(text);
}

/// Only a help for the next start: what can't be written is not worth failing for, and is written over.
void LocalFiles::append(const std::string& lines) {
  const ssize_t written = ::pwrite(lock_.get(), lines.data(), lines.size(), size_);
  if (written == static_cast<ssize_t>(lines.size())) size_ += written;
}

}  // namespace farport::router
