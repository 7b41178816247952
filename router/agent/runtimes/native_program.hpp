// Whether a runtime is part of a program that was compiled ahead of time (NativeAOT).
#pragma once

#include <string_view>

#include <sys/types.h>

namespace farport::router {

/// Whether the process has NativeAOT's runtime instead of CoreCLR, as far as its threads tell: from its start
/// on, CoreCLR has one that is called ".NET SynchManag" (seen in .NET 8, 9 and 10, suspended or not), and a
/// command line that names an assembly, unless the program is a single file. False if the process isn't
/// visible here.
[[nodiscard]] bool is_native_program(pid_t pid, std::string_view command_line);

}  // namespace farport::router
