// Becoming an ordinary user for good.
#pragma once

#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/error.hpp"
#include "confinement/capabilities.hpp"

namespace farport::confinement {

struct User {
  std::string name;  ///< Empty for a number that the host has no name for.
  uid_t uid = 0;
  gid_t gid = 0;
};

/// "NAME", "NAME:GROUP"; each a name or a number. Without a group it is the user's own. Errors: this host
/// doesn't know them, or it is root.
[[nodiscard]] Result<User> find_user(std::string_view text);

/// Turns the process into the user's, with the user's groups, and makes sure that there is no way back. Of
/// root's capabilities those in `keep` stay, until confine() takes them. Must be called before there are
/// threads. Nothing to do where the process is the user's already. Errors: the process isn't root's.
[[nodiscard]] Result<void> become(const User& user, Capabilities keep);

/// "farport (998)" or "1654".
[[nodiscard]] std::string describe(const User& user);

}  // namespace farport::confinement
