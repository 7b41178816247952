// ArtifactList: what is said of each artifact, read from the disk once for all who ask.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "router/agent/artifacts/artifacts.hpp"
#include "router/wire/artifact.hpp"

namespace farport::router {

/// One of them, as it is listed.
struct ListedArtifact {
  Artifact about;    ///< What decides who may have it; the rest is empty.
  std::string text;  ///< All that is said of it, in JSON.
};

/// All of them, by their ids, which sort by time.
using ListedArtifacts = std::map<std::string, std::shared_ptr<const ListedArtifact>, std::less<>>;

/// Reads the directory again, but only those descriptions that have changed.
class ArtifactList {
 public:
  explicit ArtifactList(std::shared_ptr<const Artifacts> of) : of_(std::move(of)) {}

  /// What there is now. Waits for the disk; for one thread at a time.
  [[nodiscard]] std::shared_ptr<const ListedArtifacts> read();
  /// The memory that the list takes, in bytes.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// Whether some are still being taken, as read() has found: their sizes change.
  [[nodiscard]] bool grows() const { return grows_; }

 private:
  /// Tells apart what stands in a file at different times: it is replaced, never changed.
  struct Version {
    std::uint64_t file = 0;
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    bool operator==(const Version&) const = default;
  };
  struct Known {
    Version version;
    bool under_way = false;
    std::shared_ptr<const ListedArtifact> listed;
  };

  std::shared_ptr<const Artifacts> of_;
  std::map<std::string, Known, std::less<>> known_;
  bool grows_ = false;
  std::uint64_t bytes_ = 0;
};

}  // namespace farport::router
