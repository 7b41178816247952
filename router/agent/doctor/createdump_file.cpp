#include "router/agent/doctor/createdump_file.hpp"

#include <array>
#include <climits>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/directory.hpp"
#include "base/read_file.hpp"

namespace farport::router {
namespace {

constexpr std::size_t kMostMapsBytes = std::size_t{8} * 1024 * 1024;
constexpr std::string_view kLibrary = "/libcoreclr.so";
constexpr mode_t kMayExecute = S_IXUSR | S_IXGRP | S_IXOTH;

/// The directory of the program itself; empty where that can't be seen.
std::string program_directory(const ProcessRoot& root) {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = ::readlinkat(root.process(), "exe", path.data(), path.size());
  return size > 0 ? directory_of(std::string(path.data(), static_cast<std::size_t>(size))) : std::string();
}

}  // namespace

std::optional<std::string> coreclr_directory_in(std::string_view maps) {
  while (!maps.empty()) {
    const std::size_t end = maps.find('\n');
    const std::string_view line = maps.substr(0, end);
    maps = end == std::string_view::npos ? std::string_view() : maps.substr(end + 1);
    // Only the path of a mapping has slashes; it is the rest of the line.
    const std::size_t path = line.find('/');
    if (path != std::string_view::npos && line.ends_with(kLibrary)) {
      return std::string(line.substr(path, line.size() - path - kLibrary.size()));
    }
  }
  return std::nullopt;
}

CreatedumpFile find_createdump(const ProcessRoot& root) {
  const UniqueFd file(::openat(root.process(), "maps", O_RDONLY | O_CLOEXEC));
  const auto maps = file ? read_limited(file.get(), kMostMapsBytes) : std::nullopt;
  if (!maps) return {};
  const auto library = coreclr_directory_in(*maps);
  const std::string directory = library ? *library : program_directory(root);
  if (directory.empty()) return {};
  CreatedumpFile found{CreatedumpFile::State::missing, directory + "/createdump"};
  const UniqueFd program = root.open_beneath(found.path, O_PATH | O_CLOEXEC, RESOLVE_IN_ROOT);
  struct stat status {};
  if (!program || ::fstat(program.get(), &status) != 0 || !S_ISREG(status.st_mode)) return found;
  const bool executable = (status.st_mode & kMayExecute) != 0;
  found.state = executable ? CreatedumpFile::State::there : CreatedumpFile::State::not_executable;
  return found;
}

}  // namespace farport::router
