#include "confinement/user.hpp"

#include <cerrno>
#include <optional>

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/resources.hpp"
#include "base/text.hpp"
#include "confinement/capabilities.hpp"

namespace farport::confinement {
namespace {

Result<gid_t> find_group(const std::string& text) {
  if (const auto number = user_number_in(text)) return *number;
  const group* entry = ::getgrnam(text.c_str());
  if (entry == nullptr) {
    return fail("run as the group", text, "there is no such group on this host", "write the group's number");
  }
  return entry->gr_gid;
}

Result<void> set_groups(const User& user) {
  const int failed =
      user.name.empty() ? ::setgroups(1, &user.gid) : ::initgroups(user.name.c_str(), user.gid);
  if (failed != 0) return fail_errno("take the groups of the user", describe(user), errno);
  return {};
}

bool is_now(const User& user) {
  uid_t real_user = 0;
  uid_t effective_user = 0;
  uid_t saved_user = 0;
  gid_t real_group = 0;
  gid_t effective_group = 0;
  gid_t saved_group = 0;
  return ::getresuid(&real_user, &effective_user, &saved_user) == 0 &&
         ::getresgid(&real_group, &effective_group, &saved_group) == 0 && real_user == user.uid &&
         effective_user == user.uid && saved_user == user.uid && real_group == user.gid &&
         effective_group == user.gid && saved_group == user.gid;
}

}  // namespace

std::string describe(const User& user) {
  const std::string number = std::to_string(user.uid);
  return user.name.empty() ? number : user.name + " (" + number + ")";
}

Result<User> find_user(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string name(text.substr(0, colon));
  const auto number = user_number_in(name);
  const passwd* entry = number ? ::getpwuid(*number) : ::getpwnam(name.c_str());
  if (entry == nullptr && !number) {
    return fail("run as the user", name, "there is no such user on this host",
                "make one, or write NUMBER:GROUP");
  }
  if (entry == nullptr && colon == std::string_view::npos) {
    return fail("run as the user", name, "this host has no user with that number, so its group is unknown",
                "write its group too, as in " + name + ":" + name);
  }
  User user;
  if (entry != nullptr) {
    user = {entry->pw_name, entry->pw_uid, entry->pw_gid};
  } else {
    user.uid = *number;
  }
  if (user.uid == 0)
    return fail("run as the user", name, "that is root", "leave --user out, or name another");
  if (colon == std::string_view::npos) return user;
  ASSIGN_OR_RETURN(const auto group, find_group(std::string(text.substr(colon + 1))));
  user.gid = group;
  return user;
}

std::optional<ActingAs> act_as(uid_t user, Capabilities use) {
  constexpr uid_t kRoot = 0;
  const pid_t parent = ::getppid();
  if (::geteuid() != kRoot || ::setresuid(kRoot, user, kRoot) != 0) return std::nullopt;
  use_capabilities(use);
  // The change of user has cleared the parent-death signal.
  end_with_parent(parent);
  return ActingAs(parent);
}

ActingAs::~ActingAs() {
  if (parent_ == 0) return;
  // The caller relies on being root again, so it must not continue as another user.
  if (::setresuid(0, 0, 0) != 0) ::_exit(1);
  end_with_parent(parent_);
}

Result<void> become(const User& user, Capabilities keep) {
  if (::geteuid() != 0) {
    if (is_now(user)) return {};
    return fail("run as the user", describe(user), "only root can become another user",
                "start farport as root, or as that user without --user");
  }
  RETURN_IF_ERROR(set_groups(user));
  const bool changed =
      ::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0 && ::setresgid(user.gid, user.gid, user.gid) == 0 &&
      ::setresuid(user.uid, user.uid, user.uid) == 0 && ::prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) == 0;
  if (!changed) return fail_errno("run as the user", describe(user), errno);
  RETURN_IF_ERROR(keep_capabilities(keep));
  // If the user's own group is root's, switching to it is no regained privilege.
  const bool root_group = user.gid != 0 && ::setresgid(0, 0, 0) == 0;
  if (!is_now(user) || ::setresuid(0, 0, 0) == 0 || root_group) {
    return fail("run as the user", describe(user), "the process could become root again");
  }
  return {};
}

}  // namespace farport::confinement
