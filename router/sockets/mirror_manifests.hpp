// The manifests of mirrors, as an agent reads them: which sockets in a directory are placeholders'. Any user
// can write what looks like one. Blocks; for a thread other than the loop's.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <sys/stat.h>

namespace farport::router {

/// How the names of manifests begin.
inline constexpr std::string_view kManifestPrefix = ".farport-mirror-";

/// Names of files by the user who owns them.
using NamesByUser = std::map<uid_t, std::unordered_set<std::string>>;

/// The manifests in one directory. Each is read once at most, and of each user's no more than a few
/// megabytes.
class MirrorManifests {
 public:
  /// `directory` is open, and outlives this.
  explicit MirrorManifests(int directory) : directory_(directory) {}

  /// Notes a file whose name begins with kManifestPrefix.
  void note(std::string name);

  /// Those of `sockets` that a mirror of the same user has listed and still lives: it holds its manifest
  /// locked. A mirror in another container, which sees the directory at another path, counts too.
  [[nodiscard]] NamesByUser made_by_mirrors(const NamesByUser& sockets) const;

 private:
  int directory_;
  std::map<uid_t, std::vector<std::string>> names_;
};

}  // namespace farport::router
