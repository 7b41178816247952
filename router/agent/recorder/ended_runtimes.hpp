// EndedRuntimes: what the recorder keeps of runtimes that have ended, in a directory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "router/agent/recorder/recent_blocks.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {

/// A directory with two files for each runtime: ID.nettrace, its last minutes, and ID.json, an EndedRuntime.
/// Several agents may use it at a time. All functions may wait for the disk, and may be called on any thread.
class EndedRuntimes {
 public:
  /// `most_bytes`: of all files together.
  EndedRuntimes(std::string directory, std::uint64_t most_bytes)
      : directory_(std::move(directory)), most_bytes_(most_bytes) {}

  /// Fails unless the directory is there, and this user's alone.
  [[nodiscard]] Result<void> check() const;

  /// Keeps a runtime that has ended, and sets its id and size. Makes room by removing older ones: at first
  /// those whose exit code was 0, and then the oldest. `removed` counts them. Errors: the system's.
  [[nodiscard]] Result<void> keep(EndedRuntime& ended, RecentFile file, std::size_t& removed) const;

  /// All that are kept, the oldest first. What can't be read is left out.
  [[nodiscard]] std::vector<EndedRuntime> all() const;
  /// One of them. Fails if there is none with this id; `cause` is ENOENT.
  [[nodiscard]] Result<EndedRuntime> find(const std::string& id) const;
  /// Opens its recording.
  [[nodiscard]] Result<UniqueFd> open(const std::string& id) const;

 private:
  [[nodiscard]] std::string path_of(const std::string& id, std::string_view ending) const;
  [[nodiscard]] Result<void> write(const EndedRuntime& ended, RecentFile& file, std::uint64_t& size) const;
  /// Removes the one that can best be done without, but not `but`. Returns false if there is no other.
  [[nodiscard]] bool remove_one(const std::string& but) const;

  std::string directory_;
  std::uint64_t most_bytes_;
};

}  // namespace farport::router
