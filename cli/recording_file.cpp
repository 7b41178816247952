#include "cli/recording_file.hpp"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "base/write_whole.hpp"
#include "transport/offload.hpp"

namespace farport::cli {
namespace {

constexpr const char* kStandardOutput = "standard output";

}  // namespace

Result<std::shared_ptr<RecordingFile>> RecordingFile::create(const std::string& path, bool force) {
  const int how = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (force ? O_TRUNC : O_EXCL);
  UniqueFd file(::open(path.c_str(), how, 0600));
  if (file) return std::make_shared<RecordingFile>(path, std::move(file));
  const int error = errno;
  return fail_errno("write the recording to", path, error,
                    error == EEXIST ? "name another one, or give --force" : "");
}

Result<std::shared_ptr<RecordingFile>> RecordingFile::standard_output() {
  UniqueFd file(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  if (!file) return fail_errno("write to", kStandardOutput, errno);
  return std::make_shared<RecordingFile>(kStandardOutput, std::move(file));
}

transport::Task<Result<void>> RecordingFile::append(transport::Loop& loop,
                                                    std::shared_ptr<const Piece> piece) {
  const auto failed = std::make_shared<int>(0);
  // What the thread uses lives as long as it does, whatever becomes of this task.
  std::function<void()> work = [self = shared_from_this(), piece, failed] {
    *failed = write_whole(self->file_.get(), std::span(piece->bytes).first(piece->size));
  };
  transport::Offload writing(loop, std::move(work));
  co_await writing.done();
  if (*failed != 0) co_return fail_errno("write the recording to", path_, *failed);
  co_return Result<void>();
}

Result<void> RecordingFile::write(std::span<const std::byte> bytes) const {
  const int failed = write_whole(file_.get(), bytes);
  if (failed != 0) return fail_errno("write the recording to", path_, failed);
  return {};
}

void RecordingFile::remove() const {
  ::unlink(path_.c_str());
}

}  // namespace farport::cli
