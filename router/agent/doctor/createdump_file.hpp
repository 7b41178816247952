// The program that writes a runtime's dump: it is beside the runtime's own library, in the runtime's file
// system.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "router/agent/runtimes/process_root.hpp"

namespace farport::router {

/// The directory of libcoreclr.so in the text of /proc/PID/maps. None where it is not mapped: the runtime is
/// part of the program then.
[[nodiscard]] std::optional<std::string> coreclr_directory_in(std::string_view maps);

struct CreatedumpFile {
  enum class State { unknown, there, missing, not_executable };
  State state = State::unknown;
  std::string path;  ///< Where it is to be, as the runtime sees it; empty where that is unknown.
};

/// Looks for it. Blocks for as long as the process's file systems like.
[[nodiscard]] CreatedumpFile find_createdump(const ProcessRoot& root);

}  // namespace farport::router
