// The shell script by which farport comes to a host or a container that has none.
#pragma once

#include <string>
#include <string_view>

#include "router/reach/static_program.hpp"

namespace farport::router {

/// What the script asks for in a line of its own, with "gzip" or "plain" behind it. What it is sent then: the
/// number of bytes in a line of its own, and the bytes.
inline constexpr std::string_view kSendRequest = "farport-send ";

/// What the script says in a line of its own, with the path behind it, of what it found where it would have
/// put the program or found it, and does not use: it may be another user's work.
inline constexpr std::string_view kAvoidedNotice = "farport-avoids ";

/// A script for POSIX's shell (dash, bash, busybox): one line without quotes that would end a quoted word, so
/// that it passes through any login shell. It runs an installed farport of this version; else ours, from a
/// directory that is this user's alone, asking for it where it isn't there yet or has another digest. Without
/// sha256sum there it asks each time. Nothing in it comes from users. `use_installed`: false: ours in any
/// case.
[[nodiscard]] std::string deploy_script(const StaticProgram& program, const std::string& secret_name,
                                        bool use_installed);

}  // namespace farport::router
