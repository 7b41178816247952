// EndedRuntimes: what the recorder keeps of runtimes that have ended, in a directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "router/agent/recorder/recent_files.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {

/// The most runtimes that are kept, however small their recordings are.
inline constexpr std::size_t kMaxEndedRuntimes = 1000;

/// A directory with some files for each runtime: ID.nettrace.zst, its last minutes; ID.samples.zst, what was
/// sampled (see SampleEvents); ID.names-1.nettrace.zst and so on, recordings that name its methods; and
/// ID.json, an EndedRuntime. Several agents may use it at a time.
/// All functions may wait for the disk, and may be called on any thread.
class EndedRuntimes {
 public:
  /// `most_bytes`: of all files together.
  EndedRuntimes(std::string directory, std::uint64_t most_bytes)
      : directory_(std::move(directory)), most_bytes_(most_bytes) {}

  /// Fails unless the directory is there, and this user's alone.
  [[nodiscard]] Result<void> check() const;

  /// Keeps a runtime that has ended, and sets its id and size. Makes room, on the disk too, by removing what
  /// agents have left behind that were killed, then runtimes whose exit code was 0, and then the oldest; but
  /// only if that is enough, and no crash for a runtime whose exit code was 0. `removed` counts them, also on
  /// failure. Errors: there is no room, or the system's.
  [[nodiscard]] Result<void> keep(EndedRuntime& ended, const RecentFiles& files, std::size_t& removed) const;

  /// All that are kept, the oldest first. What can't be read is left out.
  [[nodiscard]] std::vector<EndedRuntime> all() const;
  /// One of them. Fails if there is none with this id.
  [[nodiscard]] Result<EndedRuntime> find(const std::string& id) const;
  /// For CompressedFileReader.
  struct Opened {
    std::shared_ptr<const UniqueFd> events;
    std::shared_ptr<const UniqueFd> samples{};  ///< Null if there are none.
    std::vector<std::shared_ptr<const UniqueFd>> names{};
  };
  /// Opens its files. Fails if there is none with this id.
  [[nodiscard]] Result<Opened> open(const std::string& id) const;

 private:
  /// What the directory has under one id.
  struct Kept {
    /// In the order in which they are removed; `fresh` ones are not, since an agent may be writing them.
    enum class Rank : std::uint8_t { leftover, in_order, crash, fresh };
    std::string id;
    std::uint64_t bytes = 0;
    Rank rank{};
  };
  [[nodiscard]] std::vector<Kept> contents() const;
  [[nodiscard]] Result<void> make_room(std::uint64_t bytes, bool for_crash, std::size_t& removed) const;
  [[nodiscard]] Result<void> write(EndedRuntime& ended, const RecentFiles& files, std::uint64_t room) const;
  [[nodiscard]] std::string path_of(const std::string& id, std::string_view ending) const;

  std::string directory_;
  std::uint64_t most_bytes_;
};

}  // namespace farport::router
