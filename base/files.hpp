// Reading files whose size or kind others control.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dirent.h>
#include <sys/stat.h>

#include "base/error.hpp"

namespace farport {

/// Reads from an open file's current position, at most `most` bytes. Empty if reading fails.
[[nodiscard]] std::optional<std::string> read_limited(int fd, std::size_t most);
/// The same for the file at `path`.
[[nodiscard]] std::optional<std::string> read_limited(const std::string& path, std::size_t most);

/// Reads the whole file at `path` into `buffer` and returns its size. Never waits: fails on a FIFO or a
/// device, and on a file larger than the buffer (`cause` is EFBIG). For system errors `cause` is the errno
/// value. `what` names the file in messages: "private key".
[[nodiscard]] Result<std::size_t> read_regular_file(std::string_view what, const std::string& path,
                                                    std::span<char> buffer);

/// The same, returned as text. `limit` takes the place of the buffer's size.
[[nodiscard]] Result<std::string> read_regular_file(std::string_view what, const std::string& path,
                                                    std::size_t limit);

// Paths: reading directories, splitting a path, and whether an open file is still the one at a path.

/// A path, and the name of what is there.
struct NamedPath {
  std::string name;
  std::string path;
  bool operator==(const NamedPath&) const = default;
};

struct DirectoryClose {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
/// An open directory (opendir(3)); null if it can't be opened.
using OpenDirectory = std::unique_ptr<DIR, DirectoryClose>;

/// The directory of a path; "." if the path has none.
[[nodiscard]] inline std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// The file name at the end of a path.
[[nodiscard]] inline std::string_view file_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// Renames a file, but never onto one that is there. Returns 0, or the errno value: EEXIST.
[[nodiscard]] int rename_unless_there(const std::string& from, const std::string& to);

/// Whether a file or directory belongs to this user, and nobody else may write there.
[[nodiscard]] bool is_ours_alone(const struct stat& status);

/// Whether the open file or directory is still the one at `path`. A symbolic link is not followed.
[[nodiscard]] bool is_at(int fd, const std::string& path);

/// At most `most` names in a directory that begin with `prefix`, without "." and "..". Empty if it can't be
/// opened; partial if reading fails.
[[nodiscard]] std::vector<std::string> entries_of(const std::string& directory, std::string_view prefix = {},
                                                  std::size_t most = std::numeric_limits<std::size_t>::max());
/// The same of an open directory, from its beginning.
[[nodiscard]] std::vector<std::string> entries_of(int directory, std::string_view prefix,
                                                  std::size_t most = std::numeric_limits<std::size_t>::max());

/// The entries whose names are numbers, in ascending order.
[[nodiscard]] std::vector<int> numbered_entries(const std::string& directory,
                                                std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace farport
