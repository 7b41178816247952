// The files that a mirror makes: remembered on disk, so that the next mirror can remove what a crash left.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <sys/stat.h>
#include <sys/types.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/unique_fd.hpp"

namespace farport::router {

// The manifests of mirrors, as an agent reads them: which sockets in a directory are placeholders'. Any user
// can write what looks like one. Blocks; for a thread other than the loop's.

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

/// A mirror's claim on a socket directory: a locked manifest in it that lists the sockets made. Destroying it
/// removes them and the manifest.
class SocketManifest {
 public:
  /// Removes what dead mirrors of this user left in `directory`, and starts a manifest there. Errors: the
  /// directory can't be used.
  static Result<std::unique_ptr<SocketManifest>> claim(std::string directory, const Log& log);

  /// A manifest that is open and locked, at `path`.
  struct Manifest {
    std::string path;
    UniqueFd lock;
    off_t size = 0;  ///< As far as it is whole.
  };

  SocketManifest(std::string directory, Manifest manifest);
  SocketManifest(const SocketManifest&) = delete;
  SocketManifest& operator=(const SocketManifest&) = delete;
  ~SocketManifest();

  /// Remembers a socket that is about to be made. Errors: something is there already.
  [[nodiscard]] Result<void> add(const std::string& path);
  /// The socket has been made: from now on it is this file that is removed, and no other in its place.
  void made(const std::string& path);
  /// Removes a socket if it was made here, and forgets it.
  void remove(const std::string& path);
  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  struct File {
    dev_t device = 0;
    ino_t inode = 0;  ///< 0: it has not been made.
  };
  static void remove_file(const std::string& path, const File& file);
  void begin_anew();
  bool append(Manifest& manifest, const std::string& lines);

  std::string directory_;
  Manifest manifest_;
  std::size_t forgotten_ = 0;  ///< Lines of sockets that are gone.
  std::map<std::string, File> files_;
};

/// Removes the socket at `path` if it is this user's and nobody listens on it any more. False if something
/// else, or something alive, is there.
bool remove_stale_socket(const std::string& path);

}  // namespace farport::router
