#include "cli/private_directory.hpp"

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include "router/local_files.hpp"

namespace farport::cli {
namespace {

constexpr std::string_view kPrefix = "farport-run-";
constexpr std::time_t kJudgedAfterSeconds = 60;

std::string base_directory() {
  for (const char* variable : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && value[0] == '/' && ::access(value, W_OK | X_OK) == 0) return value;
  }
  return "/tmp";
}

/// Removes what runs that were killed have left. A directory is judged only after a minute: one that has just
/// been made has no mirror in it yet.
void remove_abandoned(const std::string& base) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::vector<fs::path> abandoned;
  for (const auto& entry : fs::directory_iterator(base, ignored)) {
    struct stat status {};
    const std::string path = entry.path();
    if (!entry.path().filename().string().starts_with(kPrefix) || ::lstat(path.c_str(), &status) != 0)
      continue;
    if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid()) continue;
    if (std::time(nullptr) - status.st_ctime > kJudgedAfterSeconds && !router::has_live_mirror(path)) {
      abandoned.push_back(entry.path());
    }
  }
  for (const fs::path& path : abandoned) fs::remove_all(path, ignored);
}

}  // namespace

Result<std::unique_ptr<PrivateDirectory>> PrivateDirectory::make() {
  const std::string base = base_directory();
  remove_abandoned(base);
  std::string path = base + "/" + std::string(kPrefix) + "XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return fail_errno("make the directory", path, errno);
  return std::make_unique<PrivateDirectory>(std::move(path));
}

PrivateDirectory::~PrivateDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace farport::cli
