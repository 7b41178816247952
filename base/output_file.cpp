#include "base/output_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <tuple>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/files.hpp"

namespace farport {

int write_whole(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {
      pollfd room{fd, POLLOUT, 0};
      ::poll(&room, 1, -1);
      continue;
    }
    if (written < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

namespace {

constexpr std::size_t kPage = 4096;

/// A unique hidden name in the directory of `path`.
std::string part_name(const std::string& path) {
  std::random_device random;
  return fmt::format("{}/.farport-{:08x}{:08x}.part", directory_of(path), random(), random());
}

bool is_zero(std::span<const std::byte> bytes) {
  return bytes.front() == std::byte{} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

/// A hint for the error. It names the program that writes, since people may have started another one, such as
/// a tool that takes a dump through a mirror.
std::string cure_for(int error, const std::string& what, const std::string& path) {
  switch (error) {
    case ENOENT:
      return fmt::format("make the directory {} first, where farport runs: it writes {}", directory_of(path),
                         what);
    case EACCES:
    case EPERM:
    case EROFS:
      return fmt::format("farport writes {}, and runs as user {}: name a directory that it may write to",
                         what, ::geteuid());
    case ENAMETOOLONG:
      return "name a shorter one";
    case EEXIST:
      return "name another one, or give --force";
    case ENOSPC:
    case EDQUOT:
      return "nothing of it is left; make room, or name another place";
    default:
      return {};
  }
}

}  // namespace

int write_name_down(const std::string& path) {
  const UniqueFd directory(::open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return directory && ::fsync(directory.get()) == 0 ? 0 : errno;
}

OutputFile::OutputFile(std::string what, std::string path, Existing existing)
    : what_(std::move(what)), path_(std::move(path)), existing_(existing) {}

Result<std::unique_ptr<OutputFile>> OutputFile::create(std::string what, const std::string& path,
                                                       Existing existing, Named named) {
  std::unique_ptr<OutputFile> file(new OutputFile(std::move(what), path, existing));
  RETURN_IF_ERROR(file->open(named));
  return file;
}

Result<void> OutputFile::open(Named named) {
  struct stat status {};
  const bool there = ::lstat(path_.c_str(), &status) == 0;
  // Checked now: otherwise only the last step would fail, when there is something to lose.
  if (!there && errno != ENOENT) return failed(errno);
  if (there && S_ISDIR(status.st_mode))
    return fail("write " + what_ + " to", path_, "it is a directory", "name a file");
  if (there && existing_ == Existing::refuse) return failed(EEXIST);
  const bool regular = ::stat(path_.c_str(), &status) != 0 || S_ISREG(status.st_mode);
  if (!regular) return fail("write " + what_ + " to", path_, "it is no regular file", "name a file");
  const bool at_once = named == Named::from_start && !there;
  if (!at_once) fd_ = UniqueFd(::open(directory_of(path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (at_once || (!fd_ && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))) {
    part_ = at_once ? path_ : part_name(path_);
    fd_ = UniqueFd(::open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  }
  if (fd_) return {};
  part_.clear();
  return failed(errno);
}

OutputFile::~OutputFile() {
  if (!part_.empty()) ::unlink(part_.c_str());
}

tl::unexpected<Error> OutputFile::failed(int error) const {
  return fail_errno("write " + what_ + " to", path_, error, cure_for(error, what_, path_));
}

Result<void> OutputFile::check_space(std::uint64_t bytes) const {
  struct statvfs status {};
  if (::fstatvfs(fd_.get(), &status) != 0) return {};
  const std::uint64_t free = static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
  if (free >= bytes) return {};
  return fail("write " + what_ + " to", path_,
              fmt::format("it has {} MiB, and only {} MiB are free there", bytes >> 20, free >> 20),
              "name another place, or make room");
}

Result<void> OutputFile::append(std::span<const std::byte> bytes) {
  if (failure_) return tl::unexpected(*failure_);
  while (!bytes.empty()) {
    // Up to the end of the current page.
    const std::size_t to_boundary = kPage - static_cast<std::size_t>(size_ % kPage);
    std::size_t data = 0;
    std::size_t end = std::min(to_boundary, bytes.size());
    while (data < bytes.size() && !is_zero(bytes.subspan(data, end - data))) {
      data = end;
      end = std::min(end + kPage, bytes.size());
    }
    const Result<void> written = write_at(bytes.first(data), size_);
    if (!written) {
      failure_ = written.error();
      return written;
    }
    // The run has ended at a page of zeros, which becomes a hole, or at the end of the data.
    size_ += end;
    bytes = bytes.subspan(end);
  }
  return {};
}

Result<void> OutputFile::write_at(std::span<const std::byte> bytes, std::uint64_t offset) const {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return {};
}

Result<void> OutputFile::keep() {
  if (failure_) return tl::unexpected(*failure_);
  RETURN_IF_ERROR(write_out());
  RETURN_IF_ERROR(take_name());
  part_.clear();
  // The file itself is complete, so an error here is not fatal.
  std::ignore = write_name_down(path_);
  return {};
}

Result<void> OutputFile::write_out() {
  // Zeros at the end were left out as a hole. A confined agent may not change the size (Landlock), and writes
  // none.
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) return failed(errno);
  const bool has_hole = static_cast<std::uint64_t>(status.st_size) < size_;
  if (has_hole && ::ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0) return failed(errno);
  // The file system may have accepted data that it can't store.
  if (::fsync(fd_.get()) != 0) return failed(errno);
  return {};
}

Result<void> OutputFile::take_name() {
  if (part_ == path_) return {};
  if (part_.empty()) {
    std::string part = part_name(path_);
    const std::string open_file = "/proc/self/fd/" + std::to_string(fd_.get());
    if (::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, part.c_str(), AT_SYMLINK_FOLLOW) != 0)
      return failed(errno);
    part_ = std::move(part);
  }
  int error = 0;
  if (existing_ == Existing::refuse) {
    error = rename_unless_there(part_, path_);
  } else if (::rename(part_.c_str(), path_.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) return failed(error);
  return {};
}

}  // namespace farport
