#include "confinement/instrumented.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>

namespace farport::confinement {
namespace {

constexpr auto kRead = static_cast<std::uint8_t>(Access::read);
constexpr auto kWrite = static_cast<std::uint8_t>(Access::write);

/// The directory of log_path in ASAN_OPTIONS; empty if it is not set.
std::string report_directory() {
  const char* given = std::getenv("ASAN_OPTIONS");
  const std::string options = given == nullptr ? "" : given;
  const std::string key = "log_path=";
  const std::size_t at = options.find(key);
  if (at == std::string::npos) return {};
  const std::size_t start = at + key.size();
  const std::filesystem::path log = options.substr(start, options.find(':', start) - start);
  return log.parent_path().string();
}

}  // namespace

std::vector<FileRule> instrument_files() {
  std::error_code error;
  return {{std::filesystem::read_symlink("/proc/self/exe", error).string(), kRead},
          {"/usr/lib", kRead},
          {report_directory(), kWrite},
          {FARPORT_BUILD_DIRECTORY, kRead | kWrite}};
}

}  // namespace farport::confinement
