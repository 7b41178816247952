// The access rules as they are written in a configuration; auth/policy.hpp applies them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace farport::auth {

/// A role that the configuration defines, in addition to the built-in ones.
struct RoleRule {
  std::string name;
  std::vector<std::string> includes;  ///< Roles whose commands this one has, too.
  std::vector<std::string> commands;  ///< Names of permissions; `*` matches any letters.
  bool none{};                        ///< Intentionally empty: for those who only read the agent's metrics.
};

/// The callers that a grant applies to. A certificate must match every list that is not empty by one name; a
/// local user has no certificate.
struct IdentityFilter {
  std::vector<std::string> cn;       ///< Common names, compared exactly.
  std::vector<std::string> ou;       ///< Organizational units, compared exactly.
  std::vector<std::string> dns;      ///< Compared exactly but for case; no wildcards.
  std::vector<std::string> uri;      ///< Patterns, as uri_matches() takes them.
  std::vector<std::string> ip;       ///< Addresses among the alternative names, in any notation.
  std::vector<std::string> pin;      ///< SHA-256 of the public key, base64 (RFC 7469 section 2.4).
  std::vector<std::string> local{};  ///< Users of the agent's host, by name or number.
  bool all = false;                  ///< Every certificate of the CA.

  [[nodiscard]] bool empty() const {
    return cn.empty() && ou.empty() && dns.empty() && uri.empty() && ip.empty() && pin.empty() &&
           local.empty() && !all;
  }
  bool operator==(const IdentityFilter&) const = default;
};

/// The runtimes that a grant applies to. A runtime must match every list that is not empty. The runtime
/// itself reports name and command line, the kernel user and pid.
struct RuntimeFilter {
  std::vector<std::string> name;          ///< Globs (glob(7)).
  std::vector<std::string> command_line;  ///< Globs.
  std::vector<std::uint64_t> pid;  ///< In the runtime's own pid namespace; from the kernel if possible.
  std::vector<std::string> user;   ///< Names or numbers, on the agent's host.

  [[nodiscard]] bool empty() const {
    return name.empty() && command_line.empty() && pid.empty() && user.empty();
  }
};

/// Gives an identity a role on all or some runtimes.
struct Grant {
  std::string text;  ///< For people: "allow-cn=alice", "grant 2".
  IdentityFilter identity;
  std::string role;
  RuntimeFilter runtimes;
};

struct PolicyRules {
  std::vector<RoleRule> roles;
  std::vector<Grant> grants;
  std::optional<std::string> loopback_role;  ///< The role of callers without TLS, where they are served.
};

/// A session whose slow reader stops the application (CollectTracing6 with buffer mode 1). No built-in role
/// has this permission.
inline constexpr std::string_view kBlockingSession = "BlockingSession";
/// A command that this version doesn't know.
inline constexpr std::string_view kUnknownCommand = "UnknownCommand";
/// Sampling of all threads by the kernel, including native code: names of functions, no data.
inline constexpr std::string_view kProfile = "profile";
/// Sampling that includes the kernel's own functions.
inline constexpr std::string_view kProfileKernel = "profile-kernel";
/// Having the agent keep in its directory what it takes, and removing what one had it keep.
inline constexpr std::string_view kKeepArtifacts = "keep-artifacts";
/// Removing anything that the agent keeps in its directory.
inline constexpr std::string_view kRemoveArtifacts = "remove-artifacts";
/// Those above, each of which must be named explicitly.
inline constexpr std::array kNamedPermissions{kBlockingSession, kUnknownCommand, kProfile,
                                              kProfileKernel,   kKeepArtifacts,  kRemoveArtifacts};

/// All permissions: the protocol's commands in its order, then kNamedPermissions.
[[nodiscard]] std::vector<std::string_view> all_permissions();

inline constexpr std::string_view kObserver = "observer";
inline constexpr std::string_view kOperator = "operator";
/// A named set of permissions. A permission is the protocol's name of a command, or one of
/// kNamedPermissions.
inline constexpr std::string_view kAdmin = "admin";

struct Role {
  std::string name;
  std::set<std::string, std::less<>> permissions;

  [[nodiscard]] bool has(std::string_view permission) const { return permissions.contains(permission); }
};

/// The built-in roles, then those of `rules`. Errors name the role and the problem: an unknown permission or
/// role, a name that is taken, or roles that include each other in a circle.
[[nodiscard]] Result<std::vector<Role>> make_roles(const std::vector<RoleRule>& rules);

}  // namespace farport::auth
