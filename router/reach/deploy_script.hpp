// The shell script by which farport comes to a host or a container that has none.
#pragma once

#include <string>
#include <string_view>

#include "router/reach/static_program.hpp"

namespace farport::router {

/// What the script asks for in a line of its own, with "gzip" or "plain" behind it. What it is sent then: the
/// number of bytes in a line of its own, and the bytes.
inline constexpr std::string_view kSendRequest = "farport-send ";

/// A script for POSIX's shell (dash, bash, busybox): one line without quotes that would end a quoted word, so
/// that it passes through any login shell. It runs an installed farport of this version; else ours, from a
/// directory that is this user's alone, asking for it where it isn't there yet. Nothing in it comes from
/// users. `use_installed`: false: ours in any case.
[[nodiscard]] std::string deploy_script(const StaticProgram& program, bool use_installed);

}  // namespace farport::router
