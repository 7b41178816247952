#include "base/journal.hpp"

#include <array>
#include <cerrno>
#include <span>
#include <tuple>

#include <fcntl.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/output_file.hpp"

namespace farport {
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

Result<UniqueFd> open_file(const std::string& path, int flags) {
  constexpr mode_t kOwn = 0600;
  UniqueFd file(::open(path.c_str(), flags | O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_CREAT, kOwn));
  if (!file) return fail_errno("open", path, errno);
  return file;
}

Result<void> write_down(const UniqueFd& file, const std::string& path, std::string_view text) {
  const int error = write_whole(file.get(), std::as_bytes(std::span(text)));
  if (error != 0) return fail_errno("write", path, error);
  if (::fsync(file.get()) != 0) return fail_errno("write", path, errno);
  return {};
}

Result<void> keep_name(const std::string& path) {
  const int error = write_name_down(path);
  return error == 0 ? Result<void>() : fail_errno("write", directory_of(path), error);
}

}  // namespace

Result<std::unique_ptr<Journal>> Journal::open(std::string path,
                                               const std::function<Result<void>(std::string_view)>& take) {
  ASSIGN_OR_RETURN(UniqueFd file, open_file(path, 0));
  RETURN_IF_ERROR(keep_name(path));
  auto journal = std::unique_ptr<Journal>(new Journal(std::move(path), std::move(file)));
  RETURN_IF_ERROR(journal->read_lines(take));
  return journal;
}

Result<void> Journal::read_lines(const std::function<Result<void>(std::string_view)>& take) {
  std::string unread;
  std::array<char, kPieceBytes> piece{};
  for (;;) {
    const ssize_t got = ::read(file_.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("read", path_, errno);
    if (got == 0) break;
    unread.append(piece.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = unread.find('\n', begin)) != std::string::npos; begin = end + 1)
      RETURN_IF_ERROR(take(std::string_view(unread).substr(begin, end - begin)));
    unread.erase(0, begin);
    size_ += begin;
    if (unread.size() > kLongestLine)
      return fail("read", path_, "it has a line of more than 1 MiB", "move the file away");
  }
  if (!unread.empty() && ::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0)
    return fail_errno("write", path_, errno);
  return {};
}

Result<void> Journal::append(std::string_view line) {
  const std::lock_guard held(mutex_);
  const std::string text = std::string(line) + "\n";
  auto written = write_down(file_, path_, text);
  if (written) {
    size_ += text.size();
  } else {
    // Half a line would take the next one with it.
    std::ignore = ::ftruncate(file_.get(), static_cast<off_t>(size_));
  }
  return written;
}

Result<void> Journal::replace(const std::vector<std::string>& lines) {
  const std::lock_guard held(mutex_);
  std::string text;
  for (const std::string& each : lines) text += each + "\n";
  // Whatever happens meanwhile, one of both is there as a whole.
  const std::string next = path_ + ".next";
  std::ignore = ::unlink(next.c_str());
  ASSIGN_OR_RETURN(UniqueFd file, open_file(next, O_EXCL));
  RETURN_IF_ERROR(write_down(file, next, text));
  if (::rename(next.c_str(), path_.c_str()) != 0) return fail_errno("replace", path_, errno);
  file_ = std::move(file);
  size_ = text.size();
  return keep_name(path_);
}

std::uint64_t Journal::size() const {
  const std::lock_guard held(mutex_);
  return size_;
}

}  // namespace farport
