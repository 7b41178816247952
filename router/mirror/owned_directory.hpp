// OwnedDirectory: a directory for one process alone, removed together with the object.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace farport::router {

class OwnedDirectory {
 public:
  /// Makes a locked directory BASE/PREFIXxxxxxx with mode 0700. First removes such directories in `base` that
  /// killed processes of this user left behind. It recognises them by their mark, their owner and the missing
  /// lock, and touches nothing else.
  static Result<std::unique_ptr<OwnedDirectory>> make(const std::string& base, std::string_view prefix);

  OwnedDirectory(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  OwnedDirectory(const OwnedDirectory&) = delete;
  OwnedDirectory& operator=(const OwnedDirectory&) = delete;
  /// Removes the directory and its contents. Links in it are removed, not followed.
  ~OwnedDirectory();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  UniqueFd fd_;  ///< Holds the lock.
};

}  // namespace farport::router
