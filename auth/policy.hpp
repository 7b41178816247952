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

// Whether a certificate, or a runtime, is one that a grant is for.

/// Checks that a filter can be meant: names that are not empty, no wildcards where there are none, URI
/// patterns and pins in their form. `rule` stands for it in errors.
[[nodiscard]] Result<void> check_filter(const IdentityFilter& filter, const std::string& rule);

/// Whether the filter, with its users as numbers, is for this identity. An empty filter is for nobody.
[[nodiscard]] bool matches(const IdentityFilter& filter, const Identity& identity);

/// Whether a URI matches a pattern: "scheme://host/path", scheme and host literal and without regard to case,
/// the path exact, where a segment "*" stands for any one segment and a last segment "**" for any rest, also
/// an empty one. A URI with a query, a fragment, an escape (%2F), or a segment that is empty, "." or ".."
/// matches nothing: SPIFFE IDs have none (SPIFFE-ID section 2), and nobody should depend on how they are
/// normalised.
[[nodiscard]] bool uri_matches(std::string_view pattern, std::string_view uri);

/// What rules can know of a runtime.
struct RuntimeTraits {
  std::string_view name;
  std::string_view command_line;
  std::uint64_t pid = 0;
  uid_t user = 0;
};

/// Makes users, by name or number, numbers. Errors name the one that isn't known on this host.
[[nodiscard]] Result<void> resolve_users(std::vector<std::string>& users, const std::string& rule);

/// Whether the filter, with its users as numbers, is for this runtime. An empty filter is for all.
[[nodiscard]] bool matches(const RuntimeFilter& filter, const RuntimeTraits& runtime);

/// The grant that allows a caller something, or why none does.
struct GrantMatch {
  bool allowed = false;
  std::string rule;  ///< The grant that allows it; empty where none does.
  std::string role;  ///< That grant's role.
  std::string why;   ///< Why it is refused, and what it would take; empty where it is allowed.
};

class Policy;

/// What one caller may do. Refers to its policy.
class Access {
 public:
  /// Of a caller that has these grants, and is called `who` in messages.
  Access(const Policy& policy, std::string who, std::vector<const Grant*> grants)
      : policy_(&policy), who_(std::move(who)), grants_(std::move(grants)) {}

  /// Whether there is nothing at all that this caller may do.
  [[nodiscard]] bool none() const { return grants_.empty(); }
  /// Whether the runtime is one that this caller has some role on: others are not shown.
  [[nodiscard]] bool sees(const RuntimeTraits& runtime) const;
  /// Whether some grant that is for all runtimes gives this permission.
  [[nodiscard]] bool may_everywhere(std::string_view permission) const;
  /// Whether the caller may do what `permission` stands for, on this runtime.
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
  /// Checks the rules; a grant without a role gives observer. Errors name the rule and what is wrong with it.
  [[nodiscard]] static Result<Policy> make(PolicyRules rules);

  /// What the holder of a verified certificate may do.
  [[nodiscard]] Access access_of(const Identity& identity) const;
  /// What callers without TLS may do; nothing unless the rules have a role for them.
  [[nodiscard]] Access loopback_access() const;
  [[nodiscard]] const std::vector<Role>& roles() const { return roles_; }
  /// nullptr where there is none of this name.
  [[nodiscard]] const Role* role(std::string_view name) const;
  /// "the role operator or admin"; what to do where no role has the permission.
  [[nodiscard]] std::string roles_with(std::string_view permission) const;

 private:
  Policy(std::vector<Role> roles, PolicyRules rules);

  std::vector<Role> roles_;
  std::vector<Grant> grants_;
  std::vector<Grant> loopback_grants_;  ///< One, or none.
};

}  // namespace farport::auth
