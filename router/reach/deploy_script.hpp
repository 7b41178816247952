// The shell script by which farport comes to a host or a container that has none.
#pragma once

#include <string>
#include <string_view>

#include "router/reach/deploy.hpp"

namespace farport::router {

/// What the script asks for in a line of its own, with "gzip" or "plain" behind it. What it is sent then: the
/// number of bytes in a line of its own, and the bytes.
inline constexpr std::string_view kSendRequest = "farport-send ";

/// The script says this in a line of its own, with a path behind it, when it does not use what has that path
/// because another user may have made it.
inline constexpr std::string_view kAvoidedNotice = "farport-avoids ";

/// A script for POSIX's shell (dash, bash, busybox): one line without quotes that would end a quoted word, so
/// that it passes through any login shell. It runs an installed farport of this version; else ours, from a
/// directory that is this user's alone, asking for it where it isn't there yet or has another digest. Without
/// sha256sum there it asks each time. Nothing in it comes from users.
/// `use_installed`: false: ours in any case.
[[nodiscard]] std::string deploy_script(const StaticProgram& program, const Deploy& deploy,
                                        bool use_installed);

}  // namespace farport::router
