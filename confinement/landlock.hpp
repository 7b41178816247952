// Landlock (Linux 5.13, landlock(7)): restricting file access to named places, and TCP.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace farport::confinement {

/// Rights at a path and, if it is a directory, for everything below it. To be combined by OR.
enum class Access : std::uint8_t {
  read = 1,      ///< Open files for reading.
  write = 2,     ///< Create files and open them for writing.
  exchange = 4,  ///< Read, rename and remove files that others write here; make directories.
  remove = 8,    ///< Remove files.
  execute = 16,  ///< Open files for reading, and execute them.
  cut = 32,      ///< Truncate files.
  pipe = 64,     ///< Make pipes and open them, and files, for writing.
};

struct FileRule {
  std::string path;
  std::uint8_t access = 0;
};

/// The version that this kernel supports; 0 if Landlock is missing or disabled.
[[nodiscard]] int landlock_version();

/// The lowest usable version: below it a file can't be moved to another directory at all (Linux 5.19).
inline constexpr int kMinLandlock = 2;

/// Restricts the calling thread and what it starts, irrevocably, to the file access of the rules and, if the
/// kernel supports it (version 4), forbids connecting and binding TCP sockets. Listing directories, looking
/// files up and connecting to Unix sockets stay allowed. Missing paths are skipped. It also ends ptrace(2)
/// access to processes outside, such as opening /proc/PID/root. Needs PR_SET_NO_NEW_PRIVS. `dials`:
/// connecting TCP sockets stays allowed, too. Without `signals` processes outside can't be sent any (version
/// 6). Fails with the kernel's error, or below version 2.
[[nodiscard]] Result<void> restrict_files(const std::vector<FileRule>& rules, bool dials,
                                          bool signals = true);

}  // namespace farport::confinement
