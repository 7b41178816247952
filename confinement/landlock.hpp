// Landlock (Linux 5.13): a process gives up the file system but for named places, and TCP; landlock(7).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace farport::confinement {

/// What may be done at a path and, where that is a directory, with everything below it. Sets of them are
/// ORed.
enum class Access : std::uint8_t {
  read = 1,      ///< Open files for reading.
  write = 2,     ///< Open files for writing, and make them.
  exchange = 4,  ///< Take files that others write here: read, rename and remove them; make directories.
  remove = 8,    ///< Remove files.
};

struct FileRule {
  std::string path;
  std::uint8_t access = 0;
};

/// The version that this kernel offers; 0 where it has none, or where it is switched off.
[[nodiscard]] int landlock_version();

/// The oldest version that will do: below it a file can't be moved to another directory at all (Linux 5.19).
inline constexpr int kLeastLandlock = 2;

/// Takes from the calling thread, and what it starts, every access to files but that of the rules, and where
/// the kernel can (version 4), connecting and binding TCP sockets. Listing directories, looking files up and
/// connecting to Unix sockets stay free. Places that aren't there are left out. It also ends what ptrace(2)
/// would allow with processes outside, such as opening /proc/PID/root. There is no way back. Takes
/// PR_SET_NO_NEW_PRIVS. `dials`: connecting TCP sockets stays free, too. Errors: the kernel's, and one below
/// version 2.
[[nodiscard]] Result<void> restrict_files(const std::vector<FileRule>& rules, bool dials);

}  // namespace farport::confinement
