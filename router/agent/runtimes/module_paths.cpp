#include "router/agent/runtimes/module_paths.hpp"

#include <algorithm>
#include <set>

#include <fcntl.h>

#include "base/files.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace farport::router {
namespace {

/// What the kernel writes behind the path of a file that has no name any more (proc(5)).
constexpr std::string_view kRemoved = " (deleted)";

}  // namespace

std::optional<std::string> read_memory_map(const ProcessRoot& root) {
  const UniqueFd file(::openat(root.process(), "maps", O_RDONLY | O_CLOEXEC));
  return file ? read_limited(file.get(), kMaxMapBytes) : std::nullopt;
}

std::optional<ModulePaths> module_paths_in(std::string_view maps) {
  std::optional<ModulePaths> found;
  std::set<std::string, std::less<>> mapped;
  while (!maps.empty()) {
    const std::string_view line = take_until(maps, '\n');
    // Only the path of a mapping contains slashes, and it is the rest of the line.
    std::string_view path = line.substr(std::min(line.find('/'), line.size()));
    const bool removed = path.ends_with(kRemoved);
    if (removed) path.remove_suffix(kRemoved.size());
    if (!removed && (path.ends_with(".so") || path.ends_with(".dll"))) mapped.emplace(path);
    if (found || !path.ends_with(kRuntimeLibrary)) continue;
    found.emplace();
    found->directory = path.substr(0, path.size() - kRuntimeLibrary.size());
    found->replaced = removed;
  }
  if (found) found->mapped.assign(mapped.begin(), mapped.end());
  return found;
}

}  // namespace farport::router
