// Policy: the roles and grants of an agent, and what they say about one caller.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "auth/identity.hpp"
#include "auth/rules.hpp"
#include "base/error.hpp"

namespace farport::auth {

/// Checks that a filter makes sense: no empty names, no wildcards where they are not supported, valid URI
/// patterns and pins. `rule` names it in errors.
[[nodiscard]] Result<void> check_filter(const IdentityFilter& filter, const std::string& rule);

/// Whether the filter, with its users as numbers, matches this identity. An empty filter matches nobody.
[[nodiscard]] bool matches(const IdentityFilter& filter, const Identity& identity);

/// Whether a URI matches a pattern "scheme://host/path". Scheme and host are compared without case, the path
/// exactly. A segment "*" matches any one segment, and a last segment "**" any rest, even an empty one. A URI
/// with a query, a fragment, an escape (%2F), or a segment that is empty, "." or ".." never matches: SPIFFE
/// IDs have none (SPIFFE-ID section 2), and rules must not depend on normalisation.
[[nodiscard]] bool uri_matches(std::string_view pattern, std::string_view uri);

/// The properties of a runtime that rules can refer to.
struct RuntimeTraits {
  std::string_view name;
  std::string_view command_line;
  std::uint64_t pid = 0;
  uid_t user = 0;
};

/// Replaces user names by numbers. Errors name the user that isn't known on this host.
[[nodiscard]] Result<void> resolve_users(std::vector<std::string>& users, const std::string& rule);

/// Whether the filter, with its users as numbers, matches this runtime. An empty filter matches all.
[[nodiscard]] bool matches(const RuntimeFilter& filter, const RuntimeTraits& runtime);

/// The grant that allows something, or why none does.
struct GrantMatch {
  bool allowed = false;
  std::string rule;  ///< The grant that allows it; empty if none does.
  std::string role;  ///< That grant's role.
  std::string why;   ///< Why it is refused, and what it would take; empty if allowed.
};

class Policy;

/// What one caller may do. Refers to its policy.
class Access {
 public:
  /// The access of a caller with these grants. `who` names the caller in messages.
  Access(const Policy& policy, std::string who, std::vector<const Grant*> grants)
      : policy_(&policy), who_(std::move(who)), grants_(std::move(grants)) {}

  /// Whether this caller may do nothing at all.
  [[nodiscard]] bool none() const { return grants_.empty(); }
  /// Whether the caller has some role on this runtime; otherwise the runtime is not shown.
  [[nodiscard]] bool sees(const RuntimeTraits& runtime) const;
  /// Whether a grant for all runtimes gives this permission.
  [[nodiscard]] bool may_everywhere(std::string_view permission) const;
  /// Whether the caller has this permission on this runtime.
  [[nodiscard]] GrantMatch may(std::string_view permission, const RuntimeTraits& runtime) const;
  [[nodiscard]] const std::vector<const Grant*>& grants() const { return grants_; }
  [[nodiscard]] const std::string& who() const { return who_; }

 private:
  const Policy* policy_;
  std::string who_;
  std::vector<const Grant*> grants_;
};

class Policy {
 public:
  /// Checks the rules. A grant without a role gives observer. Errors name the rule and the problem.
  [[nodiscard]] static Result<Policy> make(PolicyRules rules);

  /// The access of a caller with a verified certificate.
  [[nodiscard]] Access access_of(const Identity& identity) const;
  /// The access of callers without TLS; none unless the rules give them a role.
  [[nodiscard]] Access loopback_access() const;
  [[nodiscard]] const std::vector<Role>& roles() const { return roles_; }
  /// nullptr if there is no such role.
  [[nodiscard]] const Role* role(std::string_view name) const;
  /// "the role operator or admin"; a hint if no role has the permission.
  [[nodiscard]] std::string roles_with(std::string_view permission) const;

 private:
  Policy(std::vector<Role> roles, PolicyRules rules);

  std::vector<Role> roles_;
  std::vector<Grant> grants_;
  std::vector<Grant> loopback_grants_;  ///< At most one.
};

}  // namespace farport::auth
