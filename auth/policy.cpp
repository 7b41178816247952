#include "auth/policy.hpp"

#include <algorithm>

namespace farport::auth {

bool Access::sees(const RuntimeTraits& runtime) const {
  return std::any_of(grants_.begin(), grants_.end(),
                     [&](const Grant* grant) { return matches(grant->runtimes, runtime); });
}

bool Access::may_everywhere(std::string_view permission) const {
  return std::any_of(grants_.begin(), grants_.end(), [&](const Grant* grant) {
    return grant->runtimes.empty() && policy_->role(grant->role)->has(permission);
  });
}

GrantMatch Access::may(std::string_view permission, const RuntimeTraits& runtime) const {
  GrantMatch match;
  std::string has;
  for (const Grant* grant : grants_) {
    if (!matches(grant->runtimes, runtime)) continue;
    if (policy_->role(grant->role)->has(permission)) {
      match.allowed = true;
      match.rule = grant->text;
      match.role = grant->role;
      return match;
    }
    has += (has.empty() ? "" : ", ") + grant->role + " (" + grant->text + ")";
  }
  match.why = std::string(permission) + " takes " + policy_->roles_with(permission) + "; " + who_ + " has " +
              (has.empty() ? "no role here" : "only " + has);
  return match;
}

Policy::Policy(std::vector<Role> roles, PolicyRules rules)
    : roles_(std::move(roles)), grants_(std::move(rules.grants)) {
  if (rules.loopback_role) {
    loopback_grants_.push_back({"insecure-loopback", {}, *rules.loopback_role, {}});
  }
}

Result<Policy> Policy::make(PolicyRules rules) {
  auto roles = make_roles(rules.roles);
  if (!roles) return tl::unexpected(roles.error());
  const auto check_role = [&](std::string& role, const std::string& rule) -> Result<void> {
    if (role.empty()) role = kObserver;
    std::string names;
    for (const Role& known : *roles) {
      if (known.name == role) return {};
      names += (names.empty() ? "" : ", ") + known.name;
    }
    return fail("use " + rule, role, "there is no such role", "there are " + names);
  };
  for (Grant& grant : rules.grants) {
    Result<void> checked = check_filter(grant.identity, grant.text);
    if (checked) checked = check_role(grant.role, grant.text);
    if (checked) checked = resolve_users(grant.runtimes.user, grant.text);
    if (checked) checked = resolve_users(grant.identity.local, grant.text);
    if (!checked) return tl::unexpected(checked.error());
  }
  if (rules.loopback_role) {
    const Result<void> checked = check_role(*rules.loopback_role, "insecure-loopback");
    if (!checked) return tl::unexpected(checked.error());
  }
  return Policy(std::move(*roles), std::move(rules));
}

Access Policy::access_of(const Identity& identity) const {
  std::vector<const Grant*> grants;
  for (const Grant& grant : grants_) {
    if (matches(grant.identity, identity)) grants.push_back(&grant);
  }
  return {*this, describe(identity), std::move(grants)};
}

Access Policy::loopback_access() const {
  std::vector<const Grant*> grants;
  for (const Grant& grant : loopback_grants_) grants.push_back(&grant);
  return {*this, "a caller without TLS", std::move(grants)};
}

const Role* Policy::role(std::string_view name) const {
  const auto place =
      std::find_if(roles_.begin(), roles_.end(), [&](const Role& role) { return role.name == name; });
  return place == roles_.end() ? nullptr : &*place;
}

std::string Policy::roles_with(std::string_view permission) const {
  std::string names;
  for (const Role& role : roles_) {
    if (role.has(permission)) names += (names.empty() ? "" : " or ") + role.name;
  }
  return names.empty() ? "a role whose commands name it, and none does" : "the role " + names;
}

}  // namespace farport::auth
