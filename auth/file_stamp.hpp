// Telling by stat(2) that a file is another one than before.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace farport::auth {

/// Differs between two files, and between a file before and after a write. All zero where there is no file.
/// A symbolic link stands for what it leads to.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;  ///< Since 1970.
  std::int64_t changed_ns = 0;   ///< Of the inode: also changes when a file is made readable.
  bool operator==(const FileStamp&) const = default;
};
using FileStamps = std::vector<FileStamp>;

/// The stamps of files, in their order.
[[nodiscard]] FileStamps stamps_of(const std::vector<std::string>& paths);

/// The directories in which something may change when `path` leads to another file: its own, and those of all
/// symbolic links on the way, as in a Kubernetes secret (file → ..data → ..2026_11_21/file). Absolute, and
/// themselves without links. As far as there is anything.
[[nodiscard]] std::set<std::string> directories_leading_to(const std::string& path);

}  // namespace farport::auth
