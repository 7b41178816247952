// Receiving what a debugger needs beside a dump: libraries and assemblies of the runtime that wrote it.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "base/unique_fd.hpp"
#include "router/mirror/session_manager.hpp"
#include "transport/task.hpp"

namespace farport::router {

/// The directory for the modules of the dump at a path.
[[nodiscard]] inline std::string modules_beside(const std::string& dump) {
  return dump + ".runtime";
}

/// Fails if something is at `path` (`cause` is EEXIST) that must not be replaced by modules, or is more than
/// libraries and assemblies.
[[nodiscard]] Result<void> check_place_for_modules(const std::string& path, OutputFile::Existing existing);

/// Unpacks an archive, which may come from an attacker, into the new directory `path`. That appears once it
/// is complete. Errors: as for check_place_for_modules(); the archive is not whole, or no archive of modules;
/// or those of the file system. Nothing is left then. Takes a while.
[[nodiscard]] Result<void> unpack_modules(int archive, const std::string& path,
                                          OutputFile::Existing existing);

/// Which modules of a runtime are wanted.
enum class WantedModules : std::uint8_t {
  none,
  needed,  ///< What explains the runtime's memory to a debugger.
  all,     ///< All that the process has mapped, too.
};

/// Gets an archive with modules of a runtime, into a file without a name in `directory`, so that nothing is
/// left if this process is killed. Errors: the agent refuses (`cause` is the HTTP status: an older one has
/// none), or the file can't be written.
transport::Task<Result<UniqueFd>> receive_modules(SessionManager& sessions, std::string runtime_id,
                                                  WantedModules wanted, std::string directory);

}  // namespace farport::router
