// Directories: reading them, the one that a file is in, and what it is called there.
#pragma once

#include <memory>
#include <string>
#include <string_view>

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

/// What the file of a path is called in its directory.
[[nodiscard]] inline std::string_view file_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace farport
