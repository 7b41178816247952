// ReceivedArtifacts: a directory to which artifacts come, each of them once.
//
// Files have names that farport makes, AGENT_KIND_ID.ENDING, and never take the place of another file. A
// content is written to ".NAME.part", which the journal knows before it is there, and checked. Once it is on
// the disk (fsync), the journal says that it has come, also on the disk, and then the file gets its name. So
// what was interrupted in between is found again: a part that has come only lacks its name, and any other
// that the journal knows is continued.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/journal.hpp"
#include "base/unique_fd.hpp"
#include "router/mirror/artifact_download.hpp"
#include "router/wire/artifact.hpp"

namespace farport::cli {

/// One that is coming. All functions may wait for the disk, and may be called on any thread, one at a time.
class ArtifactPart {
 public:
  ArtifactPart(UniqueFd file, std::string path, router::Artifact artifact);

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

/// What is known as the same artifact, whichever agent has it: its id and its SHA-256.
[[nodiscard]] std::string key_of(const router::Artifact& artifact);

/// The names of an artifact's files.
struct ReceivedNames {
  std::string content;
  std::string about;  ///< Of its description.
};

/// Those for what an agent has, whatever it says.
[[nodiscard]] ReceivedNames received_names(std::string_view agent, const router::Artifact& artifact);

/// All functions may wait for the disk, and may be called on any thread; begin() and keep() for one artifact
/// one after the other.
class ReceivedArtifacts {
 public:
  /// Makes the directory if it is not there, locks it, and gives its name to what lacks it. Errors: another
  /// process receives there, others could write there, or the system's.
  [[nodiscard]] static Result<std::unique_ptr<ReceivedArtifacts>> open(std::string path);

  ReceivedArtifacts(std::string path, UniqueFd directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}
  ReceivedArtifacts(const ReceivedArtifacts&) = delete;
  ReceivedArtifacts& operator=(const ReceivedArtifacts&) = delete;

  /// Whether it has come before, wherever it is now.
  [[nodiscard]] bool has(const router::Artifact& artifact) const;
  /// Begins one, or continues it. Errors: a file that farport has not made is in its place (`cause` is
  /// EEXIST), it is larger than what is free (ENOSPC), or the system's.
  [[nodiscard]] Result<std::unique_ptr<ArtifactPart>> begin(const router::Artifact& artifact,
                                                            std::string_view agent);
  /// After ArtifactPart::end(): notes that it has come, and names it. Returns its path. Errors: the system's.
  [[nodiscard]] Result<std::string> keep(const router::Artifact& artifact);

 private:
  [[nodiscard]] Result<void> read_journal();
  [[nodiscard]] Result<void> check_space(const router::Artifact& artifact) const;
  [[nodiscard]] Result<void> give_name(const std::string& file) const;
  [[nodiscard]] Result<void> describe(const router::Artifact& artifact, const std::string& file) const;
  [[nodiscard]] std::optional<ReceivedNames> begun(const router::Artifact& artifact) const;
  [[nodiscard]] std::string path_of(const std::string& file) const { return path_ + "/" + file; }
  [[nodiscard]] std::string part_of(const std::string& file) const;

  std::string path_;
  UniqueFd directory_;  ///< Locked.
  std::unique_ptr<Journal> journal_;
  mutable std::mutex mutex_;                     ///< Of the following.
  std::set<std::string, std::less<>> received_;  ///< Keys.
  std::map<std::string, ReceivedNames> begun_;   ///< By key.
};

}  // namespace farport::cli
