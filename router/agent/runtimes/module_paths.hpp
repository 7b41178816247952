// ModulePaths: where the libraries and assemblies of a runtime's process lie, in its own file system.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/agent/runtimes/process_root.hpp"

namespace farport::router {

/// The runtime's library, in its directory.
inline constexpr std::string_view kRuntimeLibrary = "/libcoreclr.so";

struct ModulePaths {
  std::string directory;            ///< Of libcoreclr.so.
  bool replaced = false;            ///< Other files lie there by now than those that the process has.
  std::vector<std::string> mapped;  ///< All libraries (.so) and assemblies (.dll) that still have a name.
};

/// The most of a memory map that is read.
inline constexpr std::size_t kMaxMapBytes = std::size_t{8} << 20;
/// The text of /proc/PID/maps. Nothing if it can't be read.
[[nodiscard]] std::optional<std::string> read_memory_map(const ProcessRoot& root);

/// What the text of /proc/PID/maps says about them. Nothing if libcoreclr.so is not mapped.
[[nodiscard]] std::optional<ModulePaths> module_paths_in(std::string_view maps);

}  // namespace farport::router
