// RecentFiles: all that is kept of a runtime, as files.
#pragma once

#include <vector>

#include "router/agent/recorder/recent_blocks.hpp"
#include "router/agent/recorder/recorded_samples.hpp"

namespace farport::router {

struct RecentFiles {
  RecentFile events;
  SampleFile samples{};             ///< May be empty.
  std::vector<RecentFile> names{};  ///< Recordings that name its methods.
  bool all_named = false;           ///< Whether they name all methods.
};

}  // namespace farport::router
