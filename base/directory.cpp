#include "base/directory.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.hpp"

namespace farport {
namespace {

/// Calls `each` with each name until it returns false.
void for_each_entry(const std::string& directory, const std::function<bool(const char*)>& each) {
  const OpenDirectory open(::opendir(directory.c_str()));
  while (const dirent* entry = open == nullptr ? nullptr : ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !each(entry->d_name)) return;
  }
}

}  // namespace

OpenDirectory open_directory_again(int directory) {
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  OpenDirectory opened(copy < 0 ? nullptr : ::fdopendir(copy));
  // Only what is opened owns the copy.
  if (opened == nullptr && copy >= 0) ::close(copy);
  return opened;
}

bool is_at(int fd, const std::string& path) {
  struct stat open {};
  struct stat there {};
  return ::fstat(fd, &open) == 0 && ::lstat(path.c_str(), &there) == 0 && open.st_dev == there.st_dev &&
         open.st_ino == there.st_ino;
}

std::vector<std::string> entries_of(const std::string& directory, std::size_t most) {
  std::vector<std::string> names;
  for_each_entry(directory, [&](const char* name) {
    if (names.size() == most) return false;
    names.emplace_back(name);
    return true;
  });
  return names;
}

std::vector<int> numbered_entries(const std::string& directory, std::size_t most) {
  std::vector<int> numbers;
  for_each_entry(directory, [&](const char* name) {
    if (numbers.size() == most) return false;
    if (const auto number = number_in<int>(name)) numbers.push_back(*number);
    return true;
  });
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace farport
