// User: becoming an ordinary user, for good or for a while.
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
  std::string name;  ///< Empty if the host has no name for the number.
  uid_t uid = 0;
  gid_t gid = 0;
};

/// Parses "NAME" or "NAME:GROUP", each a name or a number. The default group is the user's own. Fails if the
/// host doesn't know them, or for root.
[[nodiscard]] Result<User> find_user(std::string_view text);

/// Changes the process to the user and the user's groups, and verifies that it can't change back. Keeps the
/// capabilities in `keep` until confine() drops them. Call it before threads are started. Does nothing if the
/// process runs as that user already. Fails if it doesn't run as root.
[[nodiscard]] Result<void> become(const User& user, Capabilities keep);

/// Runs this process as another user for as long as the object exists.
class ActingAs {
 public:
  ActingAs(ActingAs&& other) noexcept : parent_(std::exchange(other.parent_, 0)) {}
  ActingAs& operator=(ActingAs&&) = delete;
  ~ActingAs();

 private:
  friend std::optional<ActingAs> act_as(uid_t user, Capabilities use);
  explicit ActingAs(pid_t parent) : parent_(parent) {}
  pid_t parent_;  ///< 0 after a move.
};

/// Acts as an ordinary user while staying able to become root again. Files are opened with that user's
/// rights, but the user's processes can't send signals to this one. Only the capabilities in `use` are
/// effective meanwhile. Call it without other threads. Empty if root may not become any user here.
[[nodiscard]] std::optional<ActingAs> act_as(uid_t user, Capabilities use);

/// "farport (998)" or "1654".
[[nodiscard]] std::string describe(const User& user);

}  // namespace farport::confinement
