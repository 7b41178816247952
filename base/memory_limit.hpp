// How much memory this process may use at most, by what the system has set for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace farport {

/// The least memory limit of this process's control groups, in bytes: memory.max of version 2 (Linux,
/// Documentation/admin-guide/cgroup-v2.rst), memory.limit_in_bytes of version 1, with those of the groups
/// around it as far as they are visible. Nothing: there is none. `root`: of the file system, for tests.
[[nodiscard]] std::optional<std::uint64_t> memory_limit(const std::string& root = "");

}  // namespace farport
