#include "base/files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace farport {
namespace {

constexpr std::size_t kPart = 16 * 1024;

}  // namespace

std::optional<std::string> read_limited(int fd, std::size_t most) {
  std::string text;
  while (text.size() < most) {
    const std::size_t before = text.size();
    text.resize(std::min(before + kPart, most));
    const ssize_t got = ::read(fd, text.data() + before, text.size() - before);
    text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
  }
  return text;
}

std::optional<std::string> read_limited(const std::string& path, std::size_t most) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return std::nullopt;
  return read_limited(fd.get(), most);
}

namespace {

std::string_view kind_of(mode_t mode) {
  if (S_ISFIFO(mode)) return "it is a pipe, not a file";
  if (S_ISSOCK(mode)) return "it is a socket, not a file";
  return "it is a device, not a file";
}

std::string text_of(std::size_t bytes) {
  constexpr std::size_t kMebibyte = std::size_t{1} << 20;
  if (bytes >= kMebibyte && bytes % kMebibyte == 0) return std::to_string(bytes / kMebibyte) + " MiB";
  return std::to_string(bytes) + " bytes";
}

/// Reads until the buffer is full or the file ends. Returns the size, or an errno value.
tl::expected<std::size_t, int> fill(int fd, std::span<char> buffer) {
  std::size_t size = 0;
  while (size < buffer.size()) {
    const ssize_t got = ::read(fd, buffer.data() + size, buffer.size() - size);
    if (got == 0) break;
    if (got > 0) size += static_cast<std::size_t>(got);
    if (got < 0 && errno != EINTR) return tl::unexpected(errno);
  }
  return size;
}

}  // namespace

Result<std::size_t> read_regular_file(std::string_view what, const std::string& path,
                                      std::span<char> buffer) {
  const std::string tried = "read " + std::string(what);
  // Without O_NONBLOCK, open(2) would wait for a FIFO's writer.
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return fail_errno(tried, path, errno);
  if (S_ISDIR(status.st_mode)) return fail_errno(tried, path, EISDIR, "name a file");
  if (!S_ISREG(status.st_mode)) return fail(tried, path, kind_of(status.st_mode), "name a regular file");
  const auto size = fill(file.get(), buffer);
  if (!size) return fail_errno(tried, path, size.error());
  char more = 0;
  if (*size == buffer.size() && ::read(file.get(), &more, 1) > 0) {
    return tl::unexpected(Error{tried, path, "it is larger than " + text_of(buffer.size()),
                                "is this the right file?", Cause(EFBIG)});
  }
  return *size;
}

Result<std::string> read_regular_file(std::string_view what, const std::string& path, std::size_t limit) {
  std::string text(limit, '\0');
  ASSIGN_OR_RETURN(const auto size, read_regular_file(what, path, std::span<char>(text)));
  text.resize(size);
  return text;
}

namespace {

/// Opens an open directory once more, to read it from its beginning; null if that fails.
OpenDirectory open_directory_again(int directory) {
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  OpenDirectory opened(copy < 0 ? nullptr : ::fdopendir(copy));
  // Only what is opened owns the copy.
  if (opened == nullptr && copy >= 0) ::close(copy);
  return opened;
}

/// Calls `each` with each name until it returns false.
void for_each_entry(const OpenDirectory& directory, const std::function<bool(const char*)>& each) {
  while (const dirent* entry = directory == nullptr ? nullptr : ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !each(entry->d_name)) return;
  }
}

std::vector<std::string> names_in(const OpenDirectory& directory, std::string_view prefix, std::size_t most) {
  std::vector<std::string> names;
  for_each_entry(directory, [&](const char* name) {
    if (names.size() == most) return false;
    if (std::string_view(name).starts_with(prefix)) names.emplace_back(name);
    return true;
  });
  return names;
}

}  // namespace

bool is_ours_alone(const struct stat& status) {
  return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool is_at(int fd, const std::string& path) {
  struct stat open {};
  struct stat there {};
  return ::fstat(fd, &open) == 0 && ::lstat(path.c_str(), &there) == 0 && open.st_dev == there.st_dev &&
         open.st_ino == there.st_ino;
}

std::vector<std::string> entries_of(const std::string& directory, std::string_view prefix, std::size_t most) {
  return names_in(OpenDirectory(::opendir(directory.c_str())), prefix, most);
}

std::vector<std::string> entries_of(int directory, std::string_view prefix, std::size_t most) {
  return names_in(open_directory_again(directory), prefix, most);
}

std::vector<int> numbered_entries(const std::string& directory, std::size_t most) {
  std::vector<int> numbers;
  for_each_entry(OpenDirectory(::opendir(directory.c_str())), [&](const char* name) {
    if (numbers.size() == most) return false;
    if (const auto number = number_in<int>(name)) numbers.push_back(*number);
    return true;
  });
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

int rename_unless_there(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  // Not every file system supports RENAME_NOREPLACE, but link(2) never replaces a file.
  if (errno != EINVAL) return errno;
  if (::link(from.c_str(), to.c_str()) != 0) return errno;
  return ::unlink(from.c_str()) == 0 ? 0 : errno;
}

}  // namespace farport
