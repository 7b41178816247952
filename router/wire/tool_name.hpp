// What stock tools call a process.
#pragma once

#include <string>

#include "router/wire/runtime.hpp"

namespace farport::router {

/// The name that stock tools show for the runtime where a mirror stands for it, and that their -n matches:
/// .NET completes a process's name, of which Linux keeps 15 bytes, from the first two words of its command
/// line. So an application that was started as `dotnet Foo.dll` is "Foo.dll".
[[nodiscard]] std::string tool_name(const Runtime& runtime);

/// The name that they show on the runtime's own host: its program's ("dotnet").
[[nodiscard]] std::string program_name(const Runtime& runtime);

}  // namespace farport::router
