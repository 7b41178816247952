// Roles: named sets of permissions. A permission is a command's name in the protocol, or one of four more.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "auth/rules.hpp"
#include "base/error.hpp"

namespace farport::auth {

/// A session whose slow reader stops the application (CollectTracing6 with buffer mode 1). No built-in role
/// has it.
inline constexpr std::string_view kBlockingSession = "BlockingSession";
/// A command that this version doesn't know.
inline constexpr std::string_view kUnknownCommand = "UnknownCommand";
/// Having the kernel sample what all threads do, native code included: the names of functions, and no data.
inline constexpr std::string_view kProfile = "profile";
/// The kernel's own functions among them.
inline constexpr std::string_view kProfileKernel = "profile-kernel";

/// Every permission there is: the protocol's commands in its order, then the four above.
[[nodiscard]] std::vector<std::string_view> all_permissions();

inline constexpr std::string_view kObserver = "observer";
inline constexpr std::string_view kOperator = "operator";
inline constexpr std::string_view kAdmin = "admin";

struct Role {
  std::string name;
  std::set<std::string, std::less<>> permissions;

  [[nodiscard]] bool has(std::string_view permission) const { return permissions.contains(permission); }
};

/// The built-in roles and those of `rules`, in that order. Errors name the role and what is wrong with it: an
/// unknown permission or role, a name that is taken, roles that include each other in a circle.
[[nodiscard]] Result<std::vector<Role>> make_roles(const std::vector<RoleRule>& rules);

}  // namespace farport::auth
