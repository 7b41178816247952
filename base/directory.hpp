// Directories: reading them, the one that a file is in, and what it is called there.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

/// The names in a directory, but for "." and "..": those that could be read, none where it can't be opened,
/// and `most` of them at the most.
[[nodiscard]] std::vector<std::string> entries_of(const std::string& directory,
                                                  std::size_t most = std::numeric_limits<std::size_t>::max());

/// The numbers among them, ascending.
[[nodiscard]] std::vector<int> numbered_entries(const std::string& directory,
                                                std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace farport
