#include "cli/output/recording_sink.hpp"

#include <cerrno>
#include <span>

#include <fcntl.h>
#include <unistd.h>

#include "base/output_file.hpp"
#include "transport/offload.hpp"

namespace farport::cli {
namespace {

constexpr const char* kStandardOutput = "standard output";

}  // namespace

std::shared_ptr<const Piece> piece_of(std::string_view text) {
  const auto piece = std::make_shared<Piece>();
  const auto bytes = std::as_bytes(std::span(text));
  piece->bytes.assign(bytes.begin(), bytes.end());
  piece->size = bytes.size();
  return piece;
}

Result<std::shared_ptr<RecordingFile>> RecordingFile::create(const std::string& path, bool force) {
  const auto existing = force ? OutputFile::Existing::replace : OutputFile::Existing::refuse;
  ASSIGN_OR_RETURN(auto file,
                   OutputFile::create("the recording", path, existing, OutputFile::Named::from_start));
  return std::make_shared<RecordingFile>(std::move(file));
}

Result<std::shared_ptr<RecordingFile>> RecordingFile::standard_output() {
  UniqueFd output(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  if (!output) return fail_errno("write to", kStandardOutput, errno);
  return std::make_shared<RecordingFile>(std::move(output));
}

transport::Task<Result<void>> RecordingFile::append(transport::Loop& loop,
                                                    std::shared_ptr<const Piece> piece) {
  const auto written = std::make_shared<Result<void>>();
  // Owned by the thread's work, whatever happens to this task.
  std::function<void()> work = [self = shared_from_this(), piece, written] {
    *written = self->write(*piece);
  };
  transport::Offload writing(loop, std::move(work));
  co_await writing.done();
  co_return std::move(*written);
}

Result<void> RecordingFile::write(const Piece& piece) {
  const std::lock_guard lock(writing_);
  const auto bytes = std::span(piece.bytes).first(piece.size);
  if (file_ != nullptr) return file_->append(bytes);
  const int failed = write_whole(output_.get(), bytes);
  if (failed != 0) return fail_errno("write to", kStandardOutput, failed);
  return {};
}

Result<void> RecordingFile::keep() {
  if (file_ == nullptr) return {};
  const std::lock_guard lock(writing_);
  return file_->keep();
}

}  // namespace farport::cli
