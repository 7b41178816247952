// The rules of who may do what, as they are written in a configuration. auth/policy.hpp applies them.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace farport::auth {

/// A role of the configuration's own, beside the built-in ones.
struct RoleRule {
  std::string name;
  std::vector<std::string> includes;  ///< Roles whose commands are in this one too.
  std::vector<std::string> commands;  ///< Names of permissions; a `*` stands for any letters.
  bool none{};                        ///< Meant to have none: for those who only read the agent's metrics.
};

/// Who a grant is for. A certificate must have one name of every list that is not empty; a local user has no
/// certificate.
struct IdentityFilter {
  std::vector<std::string> cn;       ///< Common names, compared exactly.
  std::vector<std::string> ou;       ///< Organizational units, compared exactly.
  std::vector<std::string> dns;      ///< Compared exactly but for case; no wildcards.
  std::vector<std::string> uri;      ///< Patterns, as uri_matches() takes them.
  std::vector<std::string> ip;       ///< Addresses among the alternative names, however they are written.
  std::vector<std::string> pin;      ///< SHA-256 of the public key, base64 (RFC 7469 section 2.4).
  std::vector<std::string> local{};  ///< Users of the agent's host, by name or number.
  bool all = false;                  ///< Every certificate of the CA.

  [[nodiscard]] bool empty() const {
    return cn.empty() && ou.empty() && dns.empty() && uri.empty() && ip.empty() && pin.empty() &&
           local.empty() && !all;
  }
  bool operator==(const IdentityFilter&) const = default;
};

/// Which runtimes a grant is for. A runtime must fit one entry of every list that is not empty. Name and
/// command line are what the runtime says of itself; user and pid are what the kernel says.
struct RuntimeFilter {
  std::vector<std::string> name;          ///< Globs (glob(7)).
  std::vector<std::string> command_line;  ///< Globs.
  std::vector<std::uint64_t> pid;  ///< In the runtime's own pid namespace, by the kernel if it can tell.
  std::vector<std::string> user;   ///< Names or numbers, on the agent's host.

  [[nodiscard]] bool empty() const {
    return name.empty() && command_line.empty() && pid.empty() && user.empty();
  }
};

/// Gives an identity a role, for all runtimes or some.
struct Grant {
  std::string text;  ///< How people know it: "allow-cn=alice", "grant 2".
  IdentityFilter identity;
  std::string role;
  RuntimeFilter runtimes;
};

struct PolicyRules {
  std::vector<RoleRule> roles;
  std::vector<Grant> grants;
  std::optional<std::string> loopback_role;  ///< What callers without TLS have, where that is served.
};

// Roles: named sets of permissions. A permission is a command's name in the protocol, or one of four more.

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
