// ArtifactFile: the content of an artifact while it is being taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "router/agent/artifacts/artifacts.hpp"
#include "router/agent/artifacts/compressed_file.hpp"
#include "router/wire/artifact.hpp"
#include "router/wire/content_digest.hpp"

namespace farport::router {

/// All functions may wait for the disk, and may be called on any thread, one at a time.
class ArtifactFile {
 public:
  /// Begins one in the directory, and sets its id and state. Errors: as for Artifacts::make_room(), or the
  /// system's.
  [[nodiscard]] static Result<std::unique_ptr<ArtifactFile>> create(
      std::shared_ptr<const Artifacts> directory, Artifact artifact, RoomFor whose, std::size_t& removed);
  ArtifactFile(std::shared_ptr<const Artifacts> directory, Artifact artifact, RoomFor whose,
               std::unique_ptr<OutputFile> file);
  ArtifactFile(const ArtifactFile&) = delete;
  ArtifactFile& operator=(const ArtifactFile&) = delete;
  /// What was not ended is kept as cut, if there is any.
  ~ArtifactFile();

  /// From now on nothing is kept but a description: the content goes to this store. Errors: the system's.
  [[nodiscard]] Result<void> go_straight_to(const std::string& store, std::uint32_t stops_for);
  /// Appends to the content, and makes room in the directory as it grows, up to half of that. `removed`
  /// counts what goes for it. Errors: there is no room, or the system's.
  [[nodiscard]] Result<void> append(std::span<const std::byte> bytes, std::size_t& removed);
  /// Sets the SHA-256 of all that was appended. Nothing may be appended after it.
  void end_digest() { artifact_.sha256 = digest_.end(); }
  /// Writes all that was appended, so that it is there if the agent is killed, and shows that it is still
  /// being taken. Call this every second.
  void refresh();
  /// Keeps what there is. `why` is not empty if it is cut, nor `gaps` if it is known to lack something.
  /// Errors: the system's; then what was written before is listed as cut.
  [[nodiscard]] Result<void> end(std::string why = {}, std::string gaps = {});

  /// Removes it.
  void drop();

  [[nodiscard]] const Artifact& artifact() const { return artifact_; }

 private:
  std::shared_ptr<const Artifacts> directory_;
  Artifact artifact_;
  RoomFor whose_;
  std::unique_ptr<OutputFile> file_;
  CompressedFile compressed_;
  ContentDigest digest_;
  std::uint64_t room_ = 0;  ///< How large the file may become before more room is made.
  bool is_flushed_ = true;
  bool ended_ = false;
};

}  // namespace farport::router
