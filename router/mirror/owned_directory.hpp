// OwnedDirectory: a directory that a process has to itself, and that goes with it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace farport::router {

class OwnedDirectory {
 public:
  /// Makes a directory BASE/PREFIXxxxxxx, mode 0700, and locks it. Before that it removes those which
  /// processes of this user left in `base` under that prefix when they were killed. They are known by a mark
  /// that is in them, their owner and their lock, which ended with its process; all else is left alone.
  static Result<std::unique_ptr<OwnedDirectory>> make(const std::string& base, std::string_view prefix);

  OwnedDirectory(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  OwnedDirectory(const OwnedDirectory&) = delete;
  OwnedDirectory& operator=(const OwnedDirectory&) = delete;
  /// Removes it with all that is in it. Links in it are removed, not followed.
  ~OwnedDirectory();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  UniqueFd fd_;  ///< Holds the lock.
};

}  // namespace farport::router
