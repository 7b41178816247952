// The files that a mirror makes: remembered on disk, so that the next mirror can remove what a crash left.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "base/error.hpp"
#include "base/log.hpp"
#include "transport/unique_fd.hpp"

namespace farport::router {

/// A mirror's claim on a socket directory: a locked manifest in it that lists the sockets made. Destroying it
/// removes them and the manifest.
class LocalFiles {
 public:
  /// Removes what dead mirrors of this user left in `directory`, and starts a manifest there. Errors: the
  /// directory can't be used.
  static Result<std::unique_ptr<LocalFiles>> claim(std::string directory, const Log& log);

  LocalFiles(std::string directory, std::string manifest, transport::UniqueFd lock);
  LocalFiles(const LocalFiles&) = delete;
  LocalFiles& operator=(const LocalFiles&) = delete;
  ~LocalFiles();

  /// Remembers a socket that is about to be made.
  void add(const std::string& path);
  /// Removes a socket and forgets it.
  void remove(const std::string& path);
  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  void write_manifest();
  void append(const std::string& lines);

  std::string directory_;
  std::string manifest_;
  transport::UniqueFd lock_;
  off_t size_ = 0;  ///< Of the manifest, as far as it is whole.
  std::set<std::string> paths_;
};


/// Removes the socket at `path` if it is this user's and nobody listens on it any more. False if something
/// else, or something alive, is there.
bool remove_stale_socket(const std::string& path);

}  // namespace farport::router
