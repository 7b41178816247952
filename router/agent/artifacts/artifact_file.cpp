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

}  // namespace

Result<std::unique_ptr<ArtifactFile>> ArtifactFile::create(std::shared_ptr<const Artifacts> directory,
                                                           Artifact artifact, RoomFor whose,
                                                           std::size_t& removed) {
  ASSIGN_OR_RETURN(auto file, directory->create(artifact, whose, removed));
  return std::make_unique<ArtifactFile>(std::move(directory), std::move(artifact), std::move(whose),
                                        std::move(file));
}

ArtifactFile::ArtifactFile(std::shared_ptr<const Artifacts> directory, Artifact artifact, RoomFor whose,
                           std::unique_ptr<OutputFile> file)
    : directory_(std::move(directory)),
      artifact_(std::move(artifact)),
      whose_(std::move(whose)),
      file_(std::move(file)),
      compressed_(*file_) {}

ArtifactFile::~ArtifactFile() {
  if (ended_) return;
  if (artifact_.size == 0) {
    drop();
  } else {
    std::ignore = end("the agent ended while it was taken");
  }
}

Result<void> ArtifactFile::go_straight_to(const std::string& store, std::uint32_t stops_for) {
  artifact_.only_in = store;
  artifact_.stops_for = stops_for;
  return directory_->describe(artifact_);
}

Result<void> ArtifactFile::append(std::span<const std::byte> bytes, std::size_t& removed) {
  if (!artifact_.only_in.empty()) {
    digest_.add(bytes);
    artifact_.size += bytes.size();
    return {};
  }
  // Compression may add some bytes, but not as many as are left of a step.
  if (file_->size() + bytes.size() > room_) {
    const std::uint64_t most = directory_->limits().bytes;
    std::uint64_t more = bytes.size() + std::min(kRoomStep, most / kStepsInDirectory);
    // All others must not go for one.
    if (file_->size() + more > most / 2)
      return fail("keep it in", directory_->path(), "it is larger than half of what the directory may hold",
                  "raise artifacts.size");
    if (!directory_->make_room(more, whose_, removed)) {
      // There may be some on a small disk.
      more = bytes.size();
      RETURN_IF_ERROR(directory_->make_room(more, whose_, removed));
    }
    room_ = file_->size() + more;
  }
  is_flushed_ = false;
  RETURN_IF_ERROR(compressed_.append(bytes));
  digest_.add(bytes);
  artifact_.size += bytes.size();
  return {};
}

void ArtifactFile::refresh() {
  if (ended_) return;
  // What fails here fails again later.
  if (!std::exchange(is_flushed_, true)) std::ignore = compressed_.flush();
  ::utimensat(AT_FDCWD, file_->path().c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

void ArtifactFile::drop() {
  ended_ = true;
  file_.reset();
  std::ignore = directory_->remove_files(artifact_.id);
  directory_->note_taking(artifact_.id, false);
}

Result<void> ArtifactFile::end(std::string why, std::string gaps) {
  ended_ = true;
  struct stat found {};
  const bool is_gone = ::lstat(file_->path().c_str(), &found) != 0;
  Result<void> kept;
  if (artifact_.only_in.empty()) {
    kept = compressed_.end();
    if (kept) kept = file_->keep();
    artifact_.bytes = file_->size();
  }
  if (kept) {
    if (artifact_.sha256.empty()) end_digest();
  } else {
    // The disk is full, or fails. What is there can be read as far as it goes.
    file_->leave();
    artifact_.size = 0;
    if (why.empty()) why = kept.error().message();
  }
  artifact_.state = why.empty() ? Artifact::State::whole : Artifact::State::cut;
  artifact_.why = std::move(why);
  artifact_.gaps = std::move(gaps);
  Result<void> described = fail("keep", artifact_.id, "its file was removed");
  if (!is_gone) described = directory_->describe(artifact_);
  // It has shown that this is under way.
  if (!artifact_.only_in.empty()) file_.reset();
  directory_->note_taking(artifact_.id, false);
  return kept ? described : kept;
}

}  // namespace farport::router
