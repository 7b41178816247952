#include "router/agent/artifacts/artifact_file.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace farport::router {
namespace {

/// How much room is made at a time: looking at a directory of a thousand takes some milliseconds.
constexpr std::uint64_t kRoomStep = std::uint64_t{4} << 20;
/// A small directory must not lose much of its room to a step.
constexpr std::uint64_t kStepsInDirectory = 64;
/// What was appended within this time may be lost when the agent is killed.
constexpr std::chrono::seconds kFlushAfter{1};

}  // namespace

Result<std::unique_ptr<ArtifactFile>> ArtifactFile::create(std::shared_ptr<const Artifacts> directory,
                                                           Artifact artifact, std::size_t& removed) {
  ASSIGN_OR_RETURN(auto file, directory->create(artifact, removed));
  return std::make_unique<ArtifactFile>(std::move(directory), std::move(artifact), std::move(file));
}

ArtifactFile::ArtifactFile(std::shared_ptr<const Artifacts> directory, Artifact artifact,
                           std::unique_ptr<OutputFile> file)
    : directory_(std::move(directory)),
      artifact_(std::move(artifact)),
      file_(std::move(file)),
      compressed_(*file_),
      flushed_(Clock::now()) {}

ArtifactFile::~ArtifactFile() {
  if (!ended_) std::ignore = end("the agent ended while it was taken");
}

Result<void> ArtifactFile::append(std::span<const std::byte> bytes, std::size_t& removed) {
  // Compression may add some bytes, but not as many as are left of a step.
  if (file_->size() + bytes.size() > room_) {
    const std::uint64_t more =
        bytes.size() + std::min(kRoomStep, directory_->limits().bytes / kStepsInDirectory);
    RETURN_IF_ERROR(directory_->make_room(more, removed));
    room_ = file_->size() + more;
  }
  RETURN_IF_ERROR(compressed_.append(bytes));
  digest_.add(bytes);
  artifact_.size += bytes.size();
  if (Clock::now() - flushed_ < kFlushAfter) return {};
  RETURN_IF_ERROR(compressed_.flush());
  flushed_ = Clock::now();
  return {};
}

void ArtifactFile::touch() {
  ::utimensat(AT_FDCWD, file_->path().c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

void ArtifactFile::drop() {
  ended_ = true;
  file_.reset();
  std::ignore = directory_->remove_files(artifact_.id);
}

Result<void> ArtifactFile::end(std::string why) {
  ended_ = true;
  Result<void> kept = compressed_.end();
  if (kept) kept = file_->keep();
  if (kept) {
    artifact_.sha256 = digest_.end();
    artifact_.bytes = file_->size();
  } else {
    // The disk is full, or has gone. A description may have room once the rest is gone.
    artifact_.size = 0;
    artifact_.bytes = 0;
    file_.reset();
    if (why.empty()) why = kept.error().message();
  }
  artifact_.state = why.empty() ? Artifact::State::whole : Artifact::State::cut;
  artifact_.why = std::move(why);
  const Result<void> described = directory_->describe(artifact_);
  return kept ? described : kept;
}

}  // namespace farport::router
