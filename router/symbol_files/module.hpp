// What a file that a remote process runs is called, and what others call the files with its symbols. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/wire/samples.hpp"

namespace farport::router {

/// A program or library that is known by its build id. Both are fit to be part of a path.
struct Module {
  std::string name;      ///< Without its directory: "libcoreclr.so".
  std::string build_id;  ///< In lower-case hexadecimal.
};

/// The name of a file, without its directory and what the kernel adds where it has no name any more.
[[nodiscard]] std::string module_name(std::string_view path);

/// None: an agent may say anything, and this has no build id, or one or a name that no file has.
[[nodiscard]] std::optional<Module> module_at(const SampledMapping& mapping);

/// Where the files with its symbols may be in a directory, those that have most names first: by the build id
/// as gdb has it (Debugging with GDB, "Debugging Information in Separate Files"), by the key, or beside it.
[[nodiscard]] std::vector<std::string> places_in(const std::string& directory, const Module& module);

/// What servers call them, to be put behind a server's URL: ELF-buildid-sym and ELF-buildid of the «SSQP Key
/// Conventions» (dotnet/symstore), and as debuginfod has it (debuginfod(8), "WEBAPI").
[[nodiscard]] std::vector<std::string> server_paths(const Module& module);

}  // namespace farport::router
