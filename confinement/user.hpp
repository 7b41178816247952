// Becoming an ordinary user for good.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

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

/// This process as another user, for as long as this exists.
class ActingAs {
 public:
  ActingAs(ActingAs&& other) noexcept : parent_(std::exchange(other.parent_, 0)) {}
  ActingAs& operator=(ActingAs&&) = delete;
  ~ActingAs();

 private:
  friend std::optional<ActingAs> act_as(uid_t user, Capabilities use);
  explicit ActingAs(pid_t parent) : parent_(parent) {}
  pid_t parent_;  ///< 0: moved from.
};

/// Acts as an ordinary user, as root who may come back: files are that user's to open, but the user's own
/// processes can't send signals to this one. Of root's capabilities only those in `use` are in force
/// meanwhile. Must be called where there are no threads. None: root may not become every user here.
[[nodiscard]] std::optional<ActingAs> act_as(uid_t user, Capabilities use);

/// "farport (998)" or "1654".
[[nodiscard]] std::string describe(const User& user);

}  // namespace farport::confinement
