#include "confinement/sanitizer.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>

namespace farport::confinement {

std::vector<FileRule> sanitizer_files() {
  constexpr auto kRead = static_cast<std::uint8_t>(Access::read);
  constexpr auto kWrite = static_cast<std::uint8_t>(Access::write);
  std::error_code error;
  std::vector<FileRule> rules{{std::filesystem::read_symlink("/proc/self/exe", error).string(), kRead},
                              {"/usr/lib", kRead}};
  const char* given = std::getenv("ASAN_OPTIONS");
  const std::string options = given == nullptr ? "" : given;
  const std::string key = "log_path=";
  const std::size_t at = options.find(key);
  if (at == std::string::npos) return rules;
  const std::size_t start = at + key.size();
  const std::filesystem::path log = options.substr(start, options.find(':', start) - start);
  rules.push_back({log.parent_path().string(), kWrite});
  return rules;
}

}  // namespace farport::confinement
