// Artifacts: the agent's directory of what it keeps.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "base/unique_fd.hpp"
#include "router/wire/artifact.hpp"

namespace farport::router {

/// The most artifacts that are kept, however small they are.
inline constexpr std::size_t kMaxArtifacts = 1000;

/// Limits of the directory.
struct ArtifactLimits {
  std::uint64_t bytes = 0;           ///< Of all files together.
  std::chrono::milliseconds age{0};  ///< After which they go; 0: never.
};

/// A store to which artifacts are sent.
struct ArtifactStore {
  std::string name;
  std::vector<std::string> kinds{};  ///< Empty: all.

  /// Whether it gets artifacts of this kind.
  [[nodiscard]] bool takes(std::string_view kind) const;
  /// Whether the artifact is to be sent there, and has not been sent yet.
  [[nodiscard]] bool waits_for(const Artifact& artifact) const;
};

/// A part of a crash, of which the agent has all, made piece by piece.
struct CrashPart {
  /// What is in it: the last minutes; what was sampled (see SampleEvents); or names of methods.
  enum class Kind : std::uint8_t { events, samples, names };
  Kind kind{};
  std::function<std::vector<std::byte>()> next;  ///< The next bytes; nothing after the end.
  std::uint64_t held = 0;                        ///< The memory that it takes, in bytes.
};

/// Ids of artifacts.
using ArtifactIds = std::set<std::string, std::less<>>;

/// For whom room is made. Each user whose runtimes the artifacts are of has an equal part of what is used,
/// and what is free may be used by anybody: what goes first is of the user who has most.
struct RoomFor {
  uid_t user = 0;                               ///< Of the runtime.
  std::shared_ptr<const ArtifactIds> may_go{};  ///< What whoever keeps it may remove; null: everything.
};

/// A directory with some files for each artifact. ID.json describes it; without that file it is not listed. A
/// crash has ID.nettrace.zst, ID.samples.zst, ID.names-1.nettrace.zst and so on, which are joined for each
/// caller. Anything else has ID.content.zst. Several agents may use the directory at a time.
/// All functions may wait for the disk, and may be called on any thread.
class Artifacts {
 public:
  /// What is to be sent to a store stays until that has it.
  Artifacts(std::string directory, ArtifactLimits limits, std::vector<ArtifactStore> stores = {})
      : directory_(std::move(directory)), limits_(limits), stores_(std::move(stores)) {}

  /// Call this before anything else. Makes the directory if it is missing, and takes the right to write there
  /// from its group. What no agent takes any more is listed as cut from now on. Fails unless the directory is
  /// this user's alone then.
  [[nodiscard]] Result<void> begin_use();

  /// Keeps a crash, and sets its id and size. Makes room, on the disk too, by removing what agents have left
  /// behind that were killed, and then of the user who has most the crashes with exit code 0 and the oldest
  /// artifacts; but only if that is enough, and no others for one with exit code 0. The newest crash of each
  /// other user stays. `removed` counts them, also on failure. Errors: there is no room, or the system's.
  [[nodiscard]] Result<void> keep(Artifact& crash, const std::vector<CrashPart>& parts,
                                  std::size_t& removed) const;

  /// Whether a change of the directory's entry may be one of what is kept: contents change all the time. Null
  /// is any entry.
  [[nodiscard]] static bool may_be_description(const char* entry);
  /// Whose description a file of this name is; nothing if it is another file.
  [[nodiscard]] static std::optional<std::string> id_of_description(std::string_view name);
  /// All that are kept, the oldest first. What can't be read is left out.
  [[nodiscard]] std::vector<Artifact> all() const;
  /// One of them. Fails if there is none with this id.
  [[nodiscard]] Result<Artifact> find(const std::string& id) const;
  /// For CompressedFileReader. What there is not is null.
  struct Opened {
    std::shared_ptr<const UniqueFd> content{};
    std::shared_ptr<const UniqueFd> events{};
    std::shared_ptr<const UniqueFd> samples{};
    std::vector<std::shared_ptr<const UniqueFd>> names{};
  };
  /// Opens its files. Fails if there is none with this id.
  [[nodiscard]] Result<Opened> open(const std::string& id) const;
  /// Removes all of it. Fails if there is none with this id, or with the system's error.
  [[nodiscard]] Result<void> remove(const std::string& id) const;

  /// What is to be sent to this store, the oldest first.
  [[nodiscard]] std::vector<Artifact> waiting_for(const ArtifactStore& store) const;
  /// Notes that a store has it. Fails if it is gone, or with the system's error.
  [[nodiscard]] Result<void> note_sent(const std::string& id, const std::string& store) const;
  /// Has this process alone send to the store, for as long as it holds the result. Errors: another one does,
  /// or the system's.
  [[nodiscard]] Result<UniqueFd> lock_store(const std::string& store) const;

  [[nodiscard]] const std::string& path() const { return directory_; }
  [[nodiscard]] const ArtifactLimits& limits() const { return limits_; }
  /// Makes room for so many bytes more, as for keep(), but keeps the newest crashes. Errors: there is none.
  [[nodiscard]] Result<void> make_room(std::uint64_t bytes, const RoomFor& whose, std::size_t& removed) const;
  /// Whether one of so many bytes could be kept. Errors: why not.
  [[nodiscard]] Result<void> check_room(std::uint64_t bytes, const RoomFor& whose) const;
  /// Removes those that are older than the limit, but keeps each user's newest crash. Returns how many.
  [[nodiscard]] std::size_t remove_old() const;

 private:
  friend class ArtifactFile;

  /// What the directory has under one id.
  struct Kept {
    /// In the order in which they are removed. `unsent` ones are not, and neither are `fresh` ones, which an
    /// agent may be writing.
    enum class Rank : std::uint8_t { leftover, in_order, ordinary, newest_crash, unsent, fresh };
    std::string id;
    std::uint64_t bytes = 0;
    Rank rank{};
    uid_t user = 0;
    bool has_description = false;
  };
  /// Begins an artifact's content and sets its id. For ArtifactFile.
  [[nodiscard]] Result<std::unique_ptr<OutputFile>> create(Artifact& artifact, const RoomFor& whose,
                                                           std::size_t& removed) const;
  [[nodiscard]] std::vector<Kept> contents() const;
  [[nodiscard]] Result<void> make_room(std::uint64_t bytes, const RoomFor& whose, Kept::Rank last,
                                       std::size_t& removed) const;
  /// The ids of those that have to go.
  [[nodiscard]] Result<std::vector<std::string>> going(std::vector<Kept> all, std::uint64_t bytes,
                                                       const RoomFor& whose, Kept::Rank last) const;
  [[nodiscard]] Result<void> write(Artifact& crash, const std::vector<CrashPart>& parts,
                                   std::uint64_t room) const;
  [[nodiscard]] Result<void> check() const;
  [[nodiscard]] bool is_unsent(const Artifact& artifact) const;
  [[nodiscard]] bool is_taking(const std::string& id) const;
  void note_taking(const std::string& id, bool taking) const;
  /// As its description says.
  [[nodiscard]] Result<Artifact> find_described(const std::string& id) const;
  void note_progress(Artifact& artifact) const;
  [[nodiscard]] Result<void> describe(const Artifact& artifact) const;
  [[nodiscard]] bool remove_files(const std::string& id) const;
  [[nodiscard]] std::string path_of(const std::string& id, std::string_view ending) const;

  std::string directory_;
  ArtifactLimits limits_;
  std::vector<ArtifactStore> stores_;
  mutable std::mutex mutex_;  ///< Of taking_, and of descriptions that change.
  /// The ids of those that this agent is taking.
  mutable std::set<std::string, std::less<>> taking_;
  UniqueFd in_use_;  ///< The directory, locked for as long as this agent uses it.
};

}  // namespace farport::router
