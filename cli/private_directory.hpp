// A directory of its own for one `farport run`, which goes with it.
#pragma once

#include <memory>
#include <string>

#include "base/error.hpp"

namespace farport::cli {

class PrivateDirectory {
 public:
  /// Makes farport-run-XXXXXX (mode 0700) in $XDG_RUNTIME_DIR, else $TMPDIR, else /tmp.
  static Result<std::unique_ptr<PrivateDirectory>> make();

  explicit PrivateDirectory(std::string path) : path_(std::move(path)) {}
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;
  /// Removes it with all that is in it. Links in it are removed, not followed.
  ~PrivateDirectory();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace farport::cli
