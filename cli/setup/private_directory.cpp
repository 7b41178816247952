#include "cli/setup/private_directory.hpp"

#include <cstdlib>
#include <string>

#include <unistd.h>

#include "router/mirror/mirrored_runtime.hpp"

namespace farport::cli {
namespace {

constexpr std::string_view kRunPrefix = "farport-run-";
/// What mkdtemp(3) puts behind it, and the slash before it.
constexpr std::size_t kRandomPart = 7;

bool is_usable(const char* directory) {
  return directory != nullptr && directory[0] == '/' && ::access(directory, W_OK | X_OK) == 0 &&
         router::has_room_for_sockets(std::string(directory), kRunPrefix.size() + kRandomPart);
}

std::string base_directory() {
  for (const char* variable : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    const char* value = std::getenv(variable);
    if (is_usable(value)) return value;
  }
  return "/tmp";
}

}  // namespace

Result<std::unique_ptr<router::OwnedDirectory>> make_private_directory() {
  return router::OwnedDirectory::make(base_directory(), kRunPrefix);
}

}  // namespace farport::cli
