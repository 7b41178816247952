// Directories: reading them, and the one that a file is in.
#pragma once

#include <memory>
#include <string>

#include <dirent.h>

namespace farport {

struct DirectoryClose {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
/// An open directory (opendir(3)); null where it can't be opened.
using OpenDirectory = std::unique_ptr<DIR, DirectoryClose>;

/// The directory of a path: "." where it names none.
[[nodiscard]] inline std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace farport
