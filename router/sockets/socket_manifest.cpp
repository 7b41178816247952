#include "router/sockets/socket_manifest.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <random>
#include <sstream>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/unique_fd.hpp"

namespace farport::router {
namespace {

using Names = std::unordered_set<std::string>;

constexpr std::size_t kMaxManifests = 64;
/// The most bytes of all manifests of a user in a directory: 100,000 sockets.
constexpr std::size_t kMaxBytes = 8 * 1024 * 1024;
constexpr std::size_t kManifestPart = 64 * 1024;
/// Longer than any path: what is longer is no line of a manifest.
constexpr std::size_t kMaxLine = 8192;

/// Calls `each` for every line, and subtracts the bytes read from `budget`.
template <typename Each>
void each_line(int fd, std::size_t& budget, Each each) {
  std::string rest;
  std::string part(kManifestPart, '\0');
  while (budget > 0 && rest.size() < kMaxLine) {
    const ssize_t got = ::read(fd, part.data(), std::min(part.size(), budget));
    if (got <= 0) break;
    budget -= static_cast<std::size_t>(got);
    rest.append(part, 0, static_cast<std::size_t>(got));
    std::size_t start = 0;
    for (std::size_t end = 0; (end = rest.find('\n', start)) != std::string::npos; start = end + 1) {
      each(std::string_view(rest).substr(start, end - start));
    }
    rest.erase(0, start);
  }
}

/// The names among `sockets` that are in a manifest, if its mirror is alive.
Names listed_in(int directory, const std::string& manifest, uid_t owner, const Names& sockets,
                std::size_t& budget) {
  const UniqueFd fd(
      ::openat(directory, manifest.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != owner) return {};
  Names listed;
  each_line(fd.get(), budget, [&](std::string_view line) {
    std::string name = std::string(file_of(line));
    if (sockets.contains(name)) listed.insert(std::move(name));
  });
  // Try the lock last: a mirror that has listed something already holds it, so this can't disturb one that
  // starts.
  if (listed.empty() || ::flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return {};
  return listed;
}

}  // namespace

void MirrorManifests::note(std::string name) {
  struct stat status {};
  // Check the type before opening it, since opening a pipe or a device may have effects.
  if (::fstatat(directory_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
    return;
  std::vector<std::string>& names = names_[status.st_uid];
  if (names.size() < kMaxManifests) names.push_back(std::move(name));
}

NamesByUser MirrorManifests::made_by_mirrors(const NamesByUser& sockets) const {
  NamesByUser made;
  for (const auto& [user, names] : sockets) {
    const auto manifests = names_.find(user);
    if (manifests == names_.end() || names.empty()) continue;
    std::size_t budget = kMaxBytes;
    for (const std::string& manifest : manifests->second) {
      made[user].merge(listed_in(directory_, manifest, user, names, budget));
    }
  }
  return made;
}

namespace {

constexpr std::size_t kMaxManifest = 64 * 1024 * 1024;
/// A manifest is rewritten once it has this many more lines of removed sockets than of present ones.
constexpr std::size_t kSpareLines = 256;

bool is_regular_file_of(int fd, uid_t owner) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == owner;
}

/// Removes what a mirror's manifest lists if the mirror is dead, which means that nobody locks the manifest.
void clean_up_after(const std::string& manifest, const Log& log) {
  const UniqueFd fd(::open(manifest.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd || !is_regular_file_of(fd.get(), ::geteuid()) || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return;
  std::istringstream lines(read_limited(fd.get(), kMaxManifest).value_or(""));
  int removed = 0;
  for (std::string path; std::getline(lines, path);) removed += remove_stale_socket(path) ? 1 : 0;
  ::unlink(manifest.c_str());
  log->info("removed {} sockets that a mirror had left behind ({})", removed, manifest);
}

/// Makes a manifest for this process, and locks it.
Result<SocketManifest::Manifest> make_manifest(const std::string& directory) {
  // Others may write to the directory too. They can't take a name that they can't guess.
  std::random_device random;
  for (int attempt = 0;; ++attempt) {
    SocketManifest::Manifest manifest;
    manifest.path = directory + "/" + std::string(kManifestPrefix) + std::to_string(::getpid()) + "-" +
                    std::to_string(random());
    manifest.lock =
        UniqueFd(::open(manifest.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!manifest.lock && errno == EEXIST && attempt < 100) continue;
    if (!manifest.lock) {
      return fail_errno("use the socket directory", directory, errno, "choose another one with --socket-dir");
    }
    // A mirror that starts now may have taken it for a dead one's before it was locked, and removed it.
    if (::flock(manifest.lock.get(), LOCK_EX | LOCK_NB) == 0 && is_at(manifest.lock.get(), manifest.path))
      return manifest;
  }
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

MadeFile::MadeFile(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return;
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

void MadeFile::remove(const std::string& path) const {
  const MadeFile now(path);
  if (inode_ != 0 && now.device_ == device_ && now.inode_ == inode_) ::unlink(path.c_str());
}

Result<std::unique_ptr<SocketManifest>> SocketManifest::claim(std::string directory, const Log& log) {
  for (const std::string& name : entries_of(directory, kManifestPrefix)) {
    clean_up_after(directory + "/" + name, log);
  }
  ASSIGN_OR_RETURN(auto manifest, make_manifest(directory));
  return std::make_unique<SocketManifest>(std::move(directory), std::move(manifest));
}

SocketManifest::SocketManifest(std::string directory, Manifest manifest)
    : directory_(std::move(directory)), manifest_(std::move(manifest)) {}

SocketManifest::~SocketManifest() {
  for (const auto& [path, file] : files_) file.remove(path);
  ::unlink(manifest_.path.c_str());
}

Result<void> SocketManifest::add(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) {
    return fail("create the socket", path,
                S_ISSOCK(status.st_mode) ? "a socket is there already" : "something else is there already",
                "choose another path, or remove it if nothing needs it any more");
  }
  if (files_.emplace(path, MadeFile()).second) append(manifest_, path + "\n");
  return {};
}

void SocketManifest::remove(const std::string& path) {
  const auto place = files_.find(path);
  if (place == files_.end()) return;
  place->second.remove(path);
  files_.erase(place);
  if (++stale_lines_ > files_.size() + kSpareLines) rewrite();
}

/// Writes a new manifest. The old one stays until the new one is complete; until then both are valid.
void SocketManifest::rewrite() {
  auto manifest = make_manifest(directory_);
  if (!manifest) return;
  std::string lines;
  for (const auto& [path, file] : files_) lines += path + "\n";
  const bool whole = append(*manifest, lines);
  ::unlink(whole ? manifest_.path.c_str() : manifest->path.c_str());
  if (!whole) return;
  manifest_ = std::move(*manifest);
  stale_lines_ = 0;
}

/// A failed write is ignored and overwritten later, since the manifest only helps the next start.
bool SocketManifest::append(Manifest& manifest, const std::string& lines) {
  const ssize_t written = ::pwrite(manifest.lock.get(), lines.data(), lines.size(), manifest.size);
  if (written != static_cast<ssize_t>(lines.size())) return false;
  manifest.size += written;
  return true;
}

}  // namespace farport::router
