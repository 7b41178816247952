#include "router/sockets/mirror_manifests.hpp"

#include <array>
#include <cstddef>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/directory.hpp"
#include "base/unique_fd.hpp"

namespace farport::router {
namespace {

using Names = std::unordered_set<std::string>;

constexpr std::size_t kMaxManifests = 64;
/// Of all of a user's manifests in a directory: 100,000 sockets.
constexpr std::size_t kMaxBytes = 8 * 1024 * 1024;
constexpr std::size_t kManifestPart = 64 * 1024;
/// A path and more than that: what is longer is no line of a manifest.
constexpr std::size_t kMaxLine = 8192;

/// Calls `each` for every line, and takes what is read out of `budget`.
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

/// The names in a manifest that are among `sockets`, if its mirror lives.
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
  // The lock is tried last: a mirror that has listed something holds it already, and is not disturbed.
  if (listed.empty() || ::flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return {};
  return listed;
}

}  // namespace

void MirrorManifests::note(std::string name) {
  struct stat status {};
  // Looked at before it is opened: opening a pipe or a device may do something.
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

}  // namespace farport::router
