// Socket manifests: the list of the sockets that a mirror has made, on disk, for the next mirror and for
// agents.
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

/// The prefix of the names of manifests.
inline constexpr std::string_view kManifestPrefix = ".farport-mirror-";

/// File names, by the user who owns the files.
using NamesByUser = std::map<uid_t, std::unordered_set<std::string>>;

/// The manifests in one directory, as an agent reads them to find out which sockets are placeholders'. Any
/// user can write a file that looks like one, so it reads a few megabytes of each user at most, and each file
/// once. Blocks: use it on a thread other than the loop's.
class MirrorManifests {
 public:
  /// `directory` is an open descriptor, which must outlive this object.
  explicit MirrorManifests(int directory) : directory_(directory) {}

  /// Adds a file whose name begins with kManifestPrefix.
  void note(std::string name);

  /// Returns the `sockets` that are listed by a living mirror of the same user, which holds its manifest
  /// locked. This includes mirrors in other containers, which may see the directory at another path.
  [[nodiscard]] NamesByUser made_by_mirrors(const NamesByUser& sockets) const;

 private:
  int directory_;
  std::map<uid_t, std::vector<std::string>> names_;
};

/// Remembers which file was made at a path, so that no other is removed there.
class MadeFile {
 public:
  MadeFile() = default;
  /// The file that is at `path` now.
  explicit MadeFile(const std::string& path);
  /// Removes what is at `path` if it is still this file.
  void remove(const std::string& path) const;

 private:
  dev_t device_ = 0;
  ino_t inode_ = 0;  ///< 0: none.
};

/// A mirror's claim on a socket directory: a locked manifest in it lists the sockets that the mirror has
/// made. The destructor removes both.
class SocketManifest {
 public:
  /// Removes what dead mirrors of this user have left in `directory`, and starts a manifest there. Errors:
  /// the directory can't be used.
  static Result<std::unique_ptr<SocketManifest>> claim(std::string directory, const Log& log);

  /// An open and locked manifest, at `path`.
  struct Manifest {
    std::string path;
    UniqueFd lock;
    off_t size = 0;  ///< The size of its complete lines.
  };

  SocketManifest(std::string directory, Manifest manifest);
  SocketManifest(const SocketManifest&) = delete;
  SocketManifest& operator=(const SocketManifest&) = delete;
  ~SocketManifest();

  /// Lists a socket that is about to be made. Errors: something is there already.
  [[nodiscard]] Result<void> add(const std::string& path);
  /// Call this when the socket has been made. Only this very file will be removed, and no other at its path.
  void made(const std::string& path) { files_[path] = MadeFile(path); }
  /// Removes a socket if it was made here, and its entry.
  void remove(const std::string& path);
  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  void rewrite();
  bool append(Manifest& manifest, const std::string& lines);

  std::string directory_;
  Manifest manifest_;
  std::size_t stale_lines_ = 0;            ///< Lines of removed sockets.
  std::map<std::string, MadeFile> files_;  ///< By path; none until it has been made.
};

/// Removes the socket at `path` if it belongs to this user and nobody listens on it. Returns false if
/// something else is there, or somebody listens.
bool remove_stale_socket(const std::string& path);

}  // namespace farport::router
