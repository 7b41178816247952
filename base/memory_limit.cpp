#include "base/memory_limit.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>

namespace farport {
namespace {

/// Version 1 says «no limit» with the largest number of whole pages; no machine has so much.
constexpr std::uint64_t kUnlimited = 1ULL << 60;

struct Hierarchy {
  std::string mount;  ///< Where its groups are.
  const char* file;   ///< That holds a group's limit.
};

/// "/a/b", "/a", "": a group and those around it.
std::string parent_of(const std::string& group) {
  const std::size_t slash = group.rfind('/');
  return slash == std::string::npos ? "" : group.substr(0, slash);
}

std::optional<std::uint64_t> read_limit(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  if (!(file >> text)) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // "max" means that there is no limit.
  if (error != std::errc() || end != text.data() + text.size() || value >= kUnlimited) return std::nullopt;
  return value;
}

void lower(std::optional<std::uint64_t>& least, std::optional<std::uint64_t> limit) {
  if (limit) least = std::min(least.value_or(*limit), *limit);
}

/// Of a group, and of those around it. A container often sees its own group as the root, whatever name it has
/// outside: the root is looked at in any case.
void lower_by_groups(std::optional<std::uint64_t>& least, const Hierarchy& hierarchy, std::string group) {
  while (!group.empty() && group != "/") {
    lower(least, read_limit(hierarchy.mount + group + hierarchy.file));
    group = parent_of(group);
  }
  lower(least, read_limit(hierarchy.mount + hierarchy.file));
}

/// Whether a line's list of controllers ("cpu,memory") has the one for memory.
bool lists_memory(const std::string& controllers) {
  return ("," + controllers + ",").find(",memory,") != std::string::npos;
}

}  // namespace

std::optional<std::uint64_t> memory_limit(const std::string& root) {
  const std::string groups = root + "/sys/fs/cgroup";
  std::optional<std::uint64_t> least;
  std::ifstream file(root + "/proc/self/cgroup");
  // cgroups(7): "hierarchy-ID:controller-list:path"; version 2 is "0::path".
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) lower_by_groups(least, {groups, "/memory.max"}, group);
    if (lists_memory(controllers)) {
      lower_by_groups(least, {groups + "/memory", "/memory.limit_in_bytes"}, group);
    }
  }
  return least;
}

}  // namespace farport
