// ReceivedArtifacts: a directory to which artifacts come, each of them once.
//
// A content is written to ".ID.ENDING.part" and checked. Once it is on the disk (fsync), its id is written to
// the journal, also on the disk, and then the file gets its name. So what was interrupted in between is found
// again: a part whose id the journal has only lacks its name, and any other is continued.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "router/mirror/artifact_download.hpp"
#include "router/wire/artifact.hpp"

namespace farport::cli {

/// One that is coming. All functions may wait for the disk, and may be called on any thread, one at a time.
class ArtifactPart {
 public:
  ArtifactPart(UniqueFd file, std::string path, const router::Artifact& artifact)
      : file_(std::move(file)), path_(std::move(path)), artifact_(artifact), check_(artifact) {}

  /// Reads what has come before, if it may be continued. Errors: the system's.
  [[nodiscard]] Result<void> read_begun(bool may_continue);
  /// How much of the content is here.
  [[nodiscard]] std::uint64_t size() const { return check_.size(); }
  /// Appends to it. Errors: the system's, or more comes than the agent has said.
  [[nodiscard]] Result<void> append(const std::vector<std::byte>& bytes);
  /// After the last byte: writes it to the disk. Errors: it is not what the agent has said, which removes the
  /// part; or the system's.
  [[nodiscard]] Result<void> end();
  /// What the system has refused, if that is why something failed.
  [[nodiscard]] const std::optional<Error>& refused() const { return refused_; }

 private:
  Result<void> refuse(int error);

  UniqueFd file_;
  std::string path_;
  router::Artifact artifact_;
  router::ArtifactCheck check_;
  std::optional<Error> refused_;
};

/// All functions may wait for the disk.
class ReceivedArtifacts {
 public:
  /// Makes the directory if it is not there, locks it, and gives its name to what lacks it. Errors: another
  /// process receives there, others could write there, or the system's.
  [[nodiscard]] static Result<std::unique_ptr<ReceivedArtifacts>> open(std::string path);

  ReceivedArtifacts(std::string path, UniqueFd directory, UniqueFd journal)
      : path_(std::move(path)), directory_(std::move(directory)), journal_(std::move(journal)) {}
  ReceivedArtifacts(const ReceivedArtifacts&) = delete;
  ReceivedArtifacts& operator=(const ReceivedArtifacts&) = delete;

  /// Whether it has come before, wherever it is now.
  [[nodiscard]] bool has(const std::string& id) const { return ids_.contains(id); }
  /// Begins one, or continues it. Errors: the system's.
  [[nodiscard]] Result<std::unique_ptr<ArtifactPart>> begin(const router::Artifact& artifact) const;
  /// After ArtifactPart::end(): notes that it has come, and names it. Returns its path. Errors: the system's.
  [[nodiscard]] Result<std::string> keep(const router::Artifact& artifact);

 private:
  [[nodiscard]] Result<void> read_journal();
  [[nodiscard]] Result<void> name_the_nameless() const;
  [[nodiscard]] Result<void> describe(const router::Artifact& artifact) const;
  [[nodiscard]] std::string part_of(const std::string& file_name) const;

  std::string path_;
  UniqueFd directory_;  ///< Locked.
  UniqueFd journal_;    ///< An id on each line.
  std::set<std::string, std::less<>> ids_;
};

}  // namespace farport::cli
