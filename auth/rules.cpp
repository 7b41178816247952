#include "auth/rules.hpp"

#include <algorithm>

#include <fnmatch.h>

#include "ipc/commands.hpp"

namespace farport::auth {
namespace {

using Permissions = std::set<std::string, std::less<>>;

void add(Permissions& into, std::initializer_list<ipc::Command> commands) {
  for (const ipc::Command command : commands) into.emplace(ipc::name_of(command));
}

/// observer, operator and admin, each including the permissions of the previous one.
std::vector<Role> built_in() {
  Permissions permissions;
  // ResumeRuntime is included since dotnet-trace and dotnet-counters send it after each start of a session.
  add(permissions, {ipc::kProcessInfo, ipc::kProcessInfo2, ipc::kProcessInfo3, ipc::kCollectTracing,
                    ipc::kCollectTracing2, ipc::kCollectTracing3, ipc::kCollectTracing4,
                    ipc::kCollectTracing5, ipc::kCollectTracing6, ipc::kStopTracing, ipc::kResumeRuntime});
  std::vector<Role> roles{{std::string(kObserver), permissions}};
  add(permissions, {ipc::kGenerateCoreDump, ipc::kGenerateCoreDump2, ipc::kGenerateCoreDump3,
                    ipc::kProcessEnvironment, ipc::kEnablePerfMap, ipc::kDisablePerfMap});
  permissions.emplace(kProfile);
  permissions.emplace(kKeepArtifacts);
  roles.push_back({std::string(kOperator), permissions});
  add(permissions,
      {ipc::kAttachProfiler, ipc::kStartupProfiler, ipc::kApplyStartupHook, ipc::kSetEnvironmentVariable});
  permissions.emplace(kUnknownCommand);
  permissions.emplace(kProfileKernel);
  permissions.emplace(kRemoveArtifacts);
  roles.push_back({std::string(kAdmin), permissions});
  return roles;
}

/// Adds the permissions that match `pattern`.
Result<void> add_matching(Permissions& into, const std::string& pattern, const std::string& role) {
  bool known = false;
  for (const std::string_view permission : all_permissions()) {
    const std::string name(permission);
    // A pattern abbreviates versions of a command. It never grants permissions that must be named explicitly.
    const bool by_name = std::ranges::find(kNamedPermissions, permission) != kNamedPermissions.end();
    if (by_name ? pattern != name : ::fnmatch(pattern.c_str(), name.c_str(), 0) != 0) continue;
    known = true;
    into.insert(name);
  }
  if (known) return {};
  return fail("use the role", role, "there is no command " + pattern,
              "write it as docs/security.md does, such as CollectTracing2 or CollectTracing*");
}

/// Makes roles that include each other, in any order.
class RoleMaker {
 public:
  explicit RoleMaker(const std::vector<RoleRule>& rules) : rules_(rules), roles_(built_in()) {}

  Result<void> make(const RoleRule& rule) {
    if (find(rule.name) != nullptr) return {};
    if (!under_way_.insert(rule.name).second) {
      return fail("use the role", rule.name, "it includes itself, by way of those that it includes");
    }
    Role role{rule.name, {}};
    for (const std::string& included : rule.includes) {
      ASSIGN_OR_RETURN(const auto permissions, permissions_of(included, rule.name));
      role.permissions.insert(permissions->begin(), permissions->end());
    }
    for (const std::string& pattern : rule.commands) {
      RETURN_IF_ERROR(add_matching(role.permissions, pattern, rule.name));
    }
    if (role.permissions.empty() && !rule.none) {
      return fail("use the role", rule.name, "it has no command", "if none is meant: commands = []");
    }
    roles_.push_back(std::move(role));
    return {};
  }
  [[nodiscard]] const Role* find(std::string_view name) const {
    const auto place =
        std::find_if(roles_.begin(), roles_.end(), [&](const Role& r) { return r.name == name; });
    return place == roles_.end() ? nullptr : &*place;
  }
  [[nodiscard]] std::vector<Role> take() { return std::move(roles_); }

 private:
  Result<const Permissions*> permissions_of(const std::string& name, const std::string& included_by) {
    const auto rule =
        std::find_if(rules_.begin(), rules_.end(), [&](const RoleRule& r) { return r.name == name; });
    if (rule != rules_.end()) {
      RETURN_IF_ERROR(make(*rule));
    }
    const Role* role = find(name);
    if (role == nullptr)
      return fail("use the role", included_by, "it includes " + name + ", which is no role");
    return &role->permissions;
  }

  const std::vector<RoleRule>& rules_;
  std::vector<Role> roles_;
  std::set<std::string> under_way_;
};

}  // namespace

std::vector<std::string_view> all_permissions() {
  std::vector<std::string_view> names;
  for (const ipc::NamedCommand& command : ipc::all_commands()) names.push_back(command.name);
  names.insert(names.end(), kNamedPermissions.begin(), kNamedPermissions.end());
  return names;
}

Result<std::vector<Role>> make_roles(const std::vector<RoleRule>& rules) {
  RoleMaker maker(rules);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto same = [&](const RoleRule& other) { return other.name == rules[i].name; };
    const bool built_in_name =
        rules[i].name == kObserver || rules[i].name == kOperator || rules[i].name == kAdmin;
    if (built_in_name || std::count_if(rules.begin(), rules.end(), same) > 1) {
      return fail("use the role", rules[i].name, "there is a role of this name already",
                  "choose another name");
    }
  }
  for (const RoleRule& rule : rules) {
    RETURN_IF_ERROR(maker.make(rule));
  }
  return maker.take();
}

}  // namespace farport::auth
