// Policy: the roles and grants of an agent, and what they say about one caller.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "auth/match.hpp"
#include "auth/role.hpp"

namespace farport::auth {

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
