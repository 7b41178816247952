#include "router/agent/runtimes/socket_scan.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/text.hpp"
#include "router/agent/runtimes/process_walk.hpp"
#include "router/sockets/socket_manifest.hpp"

namespace farport::router {
namespace {

/// The most problems reported for one user; further ones are likely to be of the same kind.
constexpr std::size_t kMaxProblems = 16;
/// How many entries of one directory are kept while it is read. There may be millions.
constexpr std::size_t kMaxCandidates = 65536;
/// Kept in addition to a user's share, for sockets that turn out to be a mirror's.
constexpr std::size_t kMirrors = 4096;

Result<SocketFile> classify(const std::string& path, const struct stat& status) {
  if (S_ISLNK(status.st_mode)) {
    return fail("use the socket", path, "it is a symbolic link, and those are not followed",
                "name the socket itself");
  }
  if (!S_ISSOCK(status.st_mode)) return fail("use the socket", path, "it is not a socket");
  return SocketFile{status.st_dev, status.st_ino, status.st_uid};
}

DiscoveryIssue issue_of_directory(int error) {
  if (error == ENOENT || error == ENOTDIR) return DiscoveryIssue::no_directory;
  return error == EACCES ? DiscoveryIssue::closed_directory : DiscoveryIssue::other;
}

Error directory_error(const std::string& directory, int error) {
  std::string hint;
  if (error == ENOENT) hint = "is it mounted here, and at this path? name the right one with --search";
  if (error == EACCES) hint = user_text(::geteuid()) + " may not read it: run farport as a user who may";
  return fail_errno("search the directory", directory, error, hint).value();
}

struct Candidate {
  std::string name;
  SocketFile file;
  bool listed = false;
  timespec made{};

  /// Whether to prefer this one to another of the same user.
  bool operator<(const Candidate& other) const {
    if (listed != other.listed) return listed;
    return std::pair(made.tv_sec, made.tv_nsec) > std::pair(other.made.tv_sec, other.made.tv_nsec);
  }
};

/// The sockets of one directory, by user. Keeps a limited number of them.
class Candidates {
 public:
  void add(Candidate candidate, std::size_t keep) {
    std::vector<Candidate>& all = by_user_[candidate.file.owner];
    all.push_back(std::move(candidate));
    ++count_;
    ++seen_[all.back().file.owner];
    if (all.size() >= 2 * std::min(keep, limit_)) cut(all, std::min(keep, limit_));
    while (count_ > kMaxCandidates && limit_ > 1) {
      limit_ /= 2;
      for (auto& [owner, each] : by_user_) cut(each, limit_);
    }
  }
  void cut(std::vector<Candidate>& all, std::size_t keep) {
    if (all.size() <= keep) return;
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(keep);
    std::nth_element(all.begin(), end, all.end());
    count_ -= all.size() - keep;
    all.erase(end, all.end());
  }
  [[nodiscard]] std::map<uid_t, std::vector<Candidate>>& by_user() { return by_user_; }
  /// How many sockets of each user there were, kept or not.
  [[nodiscard]] const std::map<uid_t, std::size_t>& seen() const { return seen_; }

 private:
  std::map<uid_t, std::vector<Candidate>> by_user_;
  std::map<uid_t, std::size_t> seen_;
  std::size_t count_ = 0;
  std::size_t limit_ = kMaxCandidates;
};

class Scanner {
 public:
  explicit Scanner(const SocketScan& scan) : scan_(scan) {}

  ScanResult run() {
    // Named ports come first, so that one that is also in a search directory keeps its name.
    for (const NamedPath& port : scan_.named) look_at_named(port);
    for (const std::string& directory : scan_.search) look_into(directory);
    share_out();
    return std::move(result_);
  }

 private:
  void complain(const std::string& about, uid_t of, DiscoveryIssue issue, const Error& error) {
    if (++problems_[of] <= kMaxProblems) result_.problems.push_back({about, of, issue, error});
  }

  void look_at_named(const NamedPath& port) {
    if (!paths_.insert(port.path).second) return;
    const Result<SocketFile> file = inspect_socket(port.path);
    if (file) {
      result_.sockets.push_back({port.path, port.name, *file, {}, {}});
    } else if (file.error().cause != ENOENT) {
      complain(port.path, scan_.shares.self, DiscoveryIssue::not_a_socket, file.error());
    }
  }

  void look_into(const std::string& directory) {
    const OpenDirectory entries(::opendir(directory.c_str()));
    if (entries == nullptr) {
      const int error = errno;
      if (error == EMFILE || error == ENFILE || error == ENOMEM) result_.complete = false;
      complain(directory, scan_.shares.self, issue_of_directory(error), directory_error(directory, error));
      return;
    }
    Candidates candidates;
    MirrorManifests manifests(::dirfd(entries.get()));
    while (const dirent* entry = ::readdir(entries.get())) {
      const std::string_view name = entry->d_name;
      if (name.starts_with(kManifestPrefix)) manifests.note(std::string(name));
      if (is_default_port_name(name)) look_at(entries.get(), directory, std::string(name), candidates);
    }
    take(directory, candidates, manifests);
  }

  void look_at(DIR* entries, const std::string& directory, std::string name, Candidates& candidates) {
    const std::string path = directory + "/" + name;
    struct stat status {};
    if (paths_.contains(path) || ::fstatat(::dirfd(entries), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      return;
    const Result<SocketFile> file = classify(path, status);
    const Result<void> usable =
        file ? check_owner(path, file->owner) : Result<void>(tl::unexpected(file.error()));
    if (!usable) {
      complain(path, status.st_uid, file ? DiscoveryIssue::foreign_socket : DiscoveryIssue::not_a_socket,
               usable.error());
      return;
    }
    candidates.add({std::move(name), *file, scan_.listed.contains(path), status.st_ctim},
                   scan_.shares.of(file->owner) + kMirrors);
  }

  /// Takes the candidates of a directory, without those that mirrors have made.
  void take(const std::string& directory, Candidates& candidates, const MirrorManifests& manifests) {
    NamesByUser unknown;
    for (const auto& [owner, all] : candidates.by_user()) {
      for (const Candidate& each : all) {
        if (!each.listed) unknown[owner].insert(each.name);
      }
    }
    const NamesByUser mirrored = manifests.made_by_mirrors(unknown);
    for (auto& [owner, all] : candidates.by_user()) {
      left_out_[owner] += candidates.seen().at(owner) - all.size();
      const auto theirs = mirrored.find(owner);
      for (Candidate& each : all) {
        if (theirs != mirrored.end() && theirs->second.contains(each.name)) continue;
        paths_.insert(directory + "/" + each.name);
        found_[owner].push_back({directory, std::move(each)});
      }
    }
  }

  struct Found {
    std::string directory;
    Candidate candidate;
  };

  void share_out() {
    std::map<uid_t, std::size_t> counts;
    for (const auto& [owner, all] : found_) counts[owner] = all.size();
    const std::size_t fair = fair_share(scan_.shares, counts);
    for (auto& [owner, all] : found_) {
      std::sort(all.begin(), all.end(),
                [](const Found& a, const Found& b) { return a.candidate < b.candidate; });
      const std::size_t share = std::min({all.size(), fair, scan_.shares.of(owner)});
      left_out_[owner] += all.size() - share;
      all.resize(share);
      for (Found& each : all) {
        result_.sockets.push_back(
            {each.directory + "/" + each.candidate.name, {}, each.candidate.file, {}, {}});
      }
    }
    std::erase_if(left_out_, [](const auto& entry) { return entry.second == 0; });
    result_.left_out = std::move(left_out_);
  }

  const SocketScan& scan_;
  ScanResult result_;
  std::unordered_set<std::string> paths_;  ///< Of all sockets found so far.
  std::map<uid_t, std::vector<Found>> found_;
  std::map<uid_t, std::size_t> left_out_;
  std::map<uid_t, std::size_t> problems_;
};

}  // namespace

bool is_default_port_name(std::string_view name) {
  return port_name(name).has_value();
}

Result<SocketFile> inspect_socket(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return fail_errno("use the socket", path, errno);
  return classify(path, status);
}

Result<SocketFile> inspect_socket(const UniqueFd& fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return fail_errno("use the socket", path, errno);
  return classify(path, status);
}

Result<void> check_owner(const std::string& path, uid_t owner) {
  const uid_t own = ::geteuid();
  if (own == 0 || own == owner) return {};
  return fail("use the socket", path,
              "it belongs to " + user_text(owner) + " and farport runs as " + user_text(own),
              "run farport as " + user_text(owner) + " (in a pod: the same runAsUser)");
}

ScanResult scan_sockets(const SocketScan& scan) {
  const auto start = std::chrono::steady_clock::now();
  ScanResult result = Scanner(scan).run();
  result.took =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
  return result;
}

}  // namespace farport::router
