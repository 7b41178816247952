// What a debugger is told about a dump.
#pragma once

#include <string>
#include <vector>

namespace farport::cli {

/// The commands for dotnet-dump, in their order, before anything is asked of a dump whose runtime's files are
/// in this directory.
[[nodiscard]] std::vector<std::string> debugger_commands(const std::string& modules);

}  // namespace farport::cli
