#include "router/mirror/dump_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <tuple>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/directory.hpp"

namespace farport::router {
namespace {

constexpr std::size_t kPage = 4096;

/// A hidden name beside `path`, which nobody else uses.
std::string part_name(const std::string& path) {
  std::random_device random;
  return fmt::format("{}/.farport-{:08x}{:08x}.part", directory_of(path), random(), random());
}

bool is_zero(std::span<const std::byte> bytes) {
  return bytes.front() == std::byte{} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

/// A tool that takes a dump through a mirror need not know that it is not the one who writes.
std::string cure_for(int error, const std::string& path) {
  if (error == ENOENT) {
    return fmt::format("make the directory {} first, where farport runs: it writes the dump, not the tool",
                       directory_of(path));
  }
  if (error == EACCES || error == EPERM || error == EROFS) {
    return fmt::format(
        "farport writes the dump, not the tool, and runs as user {}: name a directory that it may write to",
        ::geteuid());
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<DumpFile>> DumpFile::create(const std::string& path) {
  struct stat status {};
  const bool there = ::stat(path.c_str(), &status) == 0;
  // Now, and not once the dump has been taken: only the last step would need the name.
  if (!there && errno == ENAMETOOLONG)
    return fail_errno("write the dump to", path, errno, "name a shorter one");
  if (there && !S_ISREG(status.st_mode)) {
    return fail("write the dump to", path,
                S_ISDIR(status.st_mode) ? "it is a directory" : "it is no regular file", "name a file");
  }
  std::string part;
  UniqueFd fd(::open(directory_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (!fd && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
    part = part_name(path);
    fd = UniqueFd(::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  }
  if (!fd) return fail_errno("write the dump to", path, errno, cure_for(errno, path));
  return std::make_unique<DumpFile>(path, std::move(part), std::move(fd));
}

DumpFile::~DumpFile() {
  if (!part_.empty()) ::unlink(part_.c_str());
}

Result<void> DumpFile::check_space(std::uint64_t bytes) const {
  struct statvfs status {};
  if (::fstatvfs(fd_.get(), &status) != 0) return {};
  const std::uint64_t free = static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
  if (free >= bytes) return {};
  return fail("write the dump to", path_,
              fmt::format("it has {} MiB, and only {} MiB are free there", bytes >> 20, free >> 20),
              "choose another place, or a smaller type of dump");
}

Result<void> DumpFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    // Up to the next page's end.
    const std::size_t to_boundary = kPage - static_cast<std::size_t>(size_ % kPage);
    std::size_t data = 0;
    std::size_t end = std::min(to_boundary, bytes.size());
    while (data < bytes.size() && !is_zero(bytes.subspan(data, end - data))) {
      data = end;
      end = std::min(end + kPage, bytes.size());
    }
    const Result<void> written = write_at(bytes.first(data), size_);
    if (!written) return written;
    // What stopped the run is one page of zeros, or nothing.
    size_ += end;
    bytes = bytes.subspan(end);
  }
  return {};
}

Result<void> DumpFile::write_at(std::span<const std::byte> bytes, std::uint64_t offset) const {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_errno("write the dump to", path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return {};
}

Result<void> DumpFile::commit() {
  // For zeros at the end.
  if (::ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0) {
    return fail_errno("write the dump to", path_, errno);
  }
  // What the file system has only promised so far, it may still refuse.
  if (::fsync(fd_.get()) != 0) return fail_errno("write the dump to", path_, errno);
  if (part_.empty()) {
    std::string part = part_name(path_);
    const std::string open_file = "/proc/self/fd/" + std::to_string(fd_.get());
    if (::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, part.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      return fail_errno("write the dump to", path_, errno);
    }
    part_ = std::move(part);
  }
  if (::rename(part_.c_str(), path_.c_str()) != 0) return fail_errno("write the dump to", path_, errno);
  part_.clear();
  // So that the name is there after a power failure, too. The dump itself is whole: file systems that can't
  // do this are no reason to fail.
  const UniqueFd directory(::open(directory_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) std::ignore = ::fsync(directory.get());
  return {};
}

}  // namespace farport::router
