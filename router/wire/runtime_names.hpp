// What runtimes are called, by tools and by people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {

/// The name that stock tools show for the runtime where a mirror stands for it, and that their -n matches:
/// .NET completes a process's name, of which Linux keeps 15 bytes, from the first two words of its command
/// line. So an application that was started as `dotnet Foo.dll` is "Foo.dll".
[[nodiscard]] std::string tool_name(const Runtime& runtime);

/// The name that they show on the runtime's own host: its program's ("dotnet").
[[nodiscard]] std::string program_name(const Runtime& runtime);

/// Whether `wanted` names this runtime: its id, its pid (its own and its host's), its name or what stock
/// tools call it, here and on its own host ("Foo", "Foo.dll" and "dotnet" for `dotnet Foo.dll`), each alone
/// or followed by @PLACE: its pod, POD/CONTAINER or container, as `farport ps` shows them; what the agent
/// calls its host; or the address at which it answers, with its port or without. `*` and `?` are wildcards
/// for the place, the name and the command line's first word.
[[nodiscard]] bool names_runtime(std::string_view wanted, const Runtime& runtime);

/// The one of `runtimes` that a person means by `wanted` (see names_runtime); with an empty text, the only
/// one. Returns its index. Errors say what to write instead: for each runtime that fits (for all of them
/// where none does) a text that names it and no other; ESRCH where there are no runtimes at all.
[[nodiscard]] Result<std::size_t> choose_runtime(std::string_view wanted,
                                                 const std::vector<const Runtime*>& runtimes);

}  // namespace farport::router
