// Modules: the files of a remote process, and where files with their symbols are found. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/wire/samples.hpp"

namespace farport::router {

/// A program or library, identified by its build id. Both members are safe as parts of a path.
struct Module {
  std::string name;      ///< Without its directory: "libcoreclr.so".
  std::string build_id;  ///< In lower-case hexadecimal.
};

/// The name of a file, without its directory, and without the kernel's mark for a deleted file.
[[nodiscard]] std::string module_name(std::string_view path);

/// The module of a mapping. Nothing if the name or the build id is missing or invalid, since an agent may say
/// anything.
[[nodiscard]] std::optional<Module> module_at(const SampledMapping& mapping);

/// The paths in a directory at which its symbols may be; files with the most names come first. They are by
/// build id as in gdb (Debugging with GDB, "Debugging Information in Separate Files"), by key, or by name.
[[nodiscard]] std::vector<std::string> places_in(const std::string& directory, const Module& module);

/// The paths of its symbols on a server, to be appended to the server's URL: ELF-buildid-sym and ELF-buildid
/// of the «SSQP Key Conventions» (dotnet/symstore), and debuginfod's (debuginfod(8), "WEBAPI").
[[nodiscard]] std::vector<std::string> server_paths(const Module& module);

}  // namespace farport::router
