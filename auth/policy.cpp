#include "auth/policy.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include <arpa/inet.h>
#include <fnmatch.h>
#include <pwd.h>

#include "base/text.hpp"

namespace farport::auth {
namespace {

constexpr std::size_t kPinLength = 44;

struct Uri {
  std::string_view scheme;
  std::string_view host;
  std::vector<std::string_view> segments;  ///< Of the path, without slashes.
};

/// Characters that start a query, a fragment or an escape, or that some readers treat as a slash. Some
/// readers decode "%2F" to a slash and "%2e%2e" to "..".
constexpr const char* kNotInUris = "?#%\\";

/// Splits "scheme://host/a/b"; empty for any other form.
std::optional<Uri> split(std::string_view text) {
  const std::size_t colon = text.find("://");
  if (colon == 0 || colon == std::string_view::npos) return std::nullopt;
  if (text.find_first_of(kNotInUris) != std::string_view::npos) return std::nullopt;
  Uri uri;
  uri.scheme = text.substr(0, colon);
  std::string_view rest = text.substr(colon + 3);
  std::size_t slash = rest.find('/');
  uri.host = rest.substr(0, slash);
  if (uri.host.empty()) return std::nullopt;
  while (slash != std::string_view::npos) {
    rest.remove_prefix(slash + 1);
    slash = rest.find('/');
    const std::string_view segment = rest.substr(0, slash);
    if (segment.empty() || segment == "." || segment == "..") return std::nullopt;
    uri.segments.push_back(segment);
  }
  return uri;
}

Result<void> check_uri_pattern(const std::string& pattern, const std::string& rule) {
  const auto bad = [&](std::string_view why) {
    return fail("use " + rule, pattern, why, "a pattern looks like spiffe://acme.example/ns/*/sa/oncall");
  };
  const auto uri = split(pattern);
  if (!uri) return bad("it is not scheme://host/path without empty segments, \"..\", %, query and fragment");
  if (uri->scheme.find('*') != std::string_view::npos || uri->host.find('*') != std::string_view::npos) {
    return bad("wildcards stand for whole path segments, not for the scheme or the host");
  }
  for (std::size_t i = 0; i < uri->segments.size(); ++i) {
    const std::string_view segment = uri->segments[i];
    if (segment.find('*') == std::string_view::npos || segment == "*") continue;
    if (segment != "**") return bad("a wildcard stands for a whole path segment, not for a part of one");
    if (i + 1 != uri->segments.size()) return bad("\"**\" may only be the last segment");
  }
  return {};
}

/// The address in the canonical form of an Identity; empty if `text` is no address.
std::optional<std::string> plain_address(const std::string& text) {
  const std::vector<std::uint8_t> bytes = ip_address_bytes(text);
  if (bytes.empty()) return std::nullopt;
  const int family = bytes.size() == sizeof(in_addr) ? AF_INET : AF_INET6;
  std::array<char, INET6_ADDRSTRLEN> plain{};
  return inet_ntop(family, bytes.data(), plain.data(), plain.size());
}

/// Whether any of the things matches any entry of the list. An empty list matches everything.
template <typename Wanted, typename Things, typename Compare>
bool fits(const std::vector<Wanted>& list, const Things& things, Compare compare) {
  return list.empty() || std::any_of(list.begin(), list.end(), [&](const Wanted& wanted) {
           return std::any_of(things.begin(), things.end(),
                              [&](const auto& thing) { return compare(wanted, thing); });
         });
}

}  // namespace

bool uri_matches(std::string_view pattern, std::string_view uri) {
  const auto want = split(pattern);
  const auto have = split(uri);
  if (!want || !have) return false;
  if (!equal_without_case(want->scheme, have->scheme) || !equal_without_case(want->host, have->host))
    return false;
  for (std::size_t i = 0; i < want->segments.size(); ++i) {
    if (want->segments[i] == "**") return true;
    if (i == have->segments.size()) return false;
    if (want->segments[i] != "*" && want->segments[i] != have->segments[i]) return false;
  }
  return want->segments.size() == have->segments.size();
}

Result<void> check_filter(const IdentityFilter& filter, const std::string& rule) {
  if (filter.empty()) {
    return fail("use", rule, "it has no condition on the caller",
                "give it cn, ou, dns, uri, ip, pin, local or all");
  }
  for (const auto* names : {&filter.cn, &filter.ou, &filter.dns}) {
    for (const std::string& name : *names) {
      if (name.empty()) return fail("use", rule, "a name in it is empty", "give a name of the certificate");
    }
  }
  for (const auto* names : {&filter.cn, &filter.ou, &filter.dns}) {
    for (const std::string& name : *names) {
      if (name.find('*') == std::string::npos) continue;
      return fail("use " + rule, name, "names here have no wildcards",
                  name == "*" ? "every certificate of the CA is meant by --allow-all (all = true)"
                              : "name each one, or use a URI pattern");
    }
  }
  for (const std::string& pattern : filter.uri) {
    RETURN_IF_ERROR(check_uri_pattern(pattern, rule));
  }
  for (const std::string& address : filter.ip) {
    if (!plain_address(address)) {
      return fail("use " + rule, address, "it is no IP address",
                  "write it as 10.0.0.2 or fd00::2, without a port or a mask");
    }
  }
  const bool has_name = !filter.cn.empty() || !filter.ou.empty() || !filter.dns.empty() ||
                        !filter.uri.empty() || !filter.ip.empty() || !filter.pin.empty() || filter.all;
  if (!filter.local.empty() && has_name) {
    return fail("use", rule, "a local user has no certificate", "write two rules");
  }
  for (const std::string& pin : filter.pin) {
    if (pin.size() != kPinLength || pin.back() != '=') {
      return fail("use " + rule, pin, "a pin is the SHA-256 of a public key in base64: 44 characters",
                  "farport check prints that of a certificate");
    }
  }
  return {};
}

bool matches(const IdentityFilter& filter, const Identity& identity) {
  if (filter.empty()) return false;
  // Local users have numbers but no certificate, so a rule of one kind never matches the other.
  if (identity.local || !filter.local.empty()) {
    return identity.local && std::any_of(filter.local.begin(), filter.local.end(), [&](const auto& user) {
             return user_number_in(user) == identity.local;
           });
  }
  const auto equal = [](const std::string& a, const std::string& b) { return a == b; };
  const auto same_address = [](const std::string& a, const std::string& b) { return plain_address(a) == b; };
  return fits(filter.cn, std::vector<std::string>{identity.common_name}, equal) &&
         fits(filter.ou, identity.organizational_units, equal) &&
         fits(filter.dns, identity.dns, equal_without_case) && fits(filter.uri, identity.uris, uri_matches) &&
         fits(filter.ip, identity.ips, same_address) &&
         fits(filter.pin, std::vector<std::string>{identity.spki_pin}, equal);
}

Result<void> resolve_users(std::vector<std::string>& users, const std::string& rule) {
  for (std::string& user : users) {
    if (user_number_in(user)) continue;
    const passwd* entry = ::getpwnam(user.c_str());
    if (entry == nullptr) {
      return fail("use " + rule, user, "there is no such user on this host", "write the user's number");
    }
    user = std::to_string(entry->pw_uid);
  }
  return {};
}

bool matches(const RuntimeFilter& filter, const RuntimeTraits& runtime) {
  if (filter.empty()) return true;
  const auto glob = [](const std::string& pattern, std::string_view text) {
    return ::fnmatch(pattern.c_str(), std::string(text).c_str(), 0) == 0;
  };
  const auto equal = [](std::uint64_t a, std::uint64_t b) { return a == b; };
  const auto is_user = [](const std::string& wanted, uid_t user) { return user_number_in(wanted) == user; };
  return fits(filter.name, std::span(&runtime.name, 1), glob) &&
         fits(filter.command_line, std::span(&runtime.command_line, 1), glob) &&
         fits(filter.pid, std::span(&runtime.pid, 1), equal) &&
         fits(filter.user, std::span(&runtime.user, 1), is_user);
}

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
  ASSIGN_OR_RETURN(auto roles, make_roles(rules.roles));
  const auto check_role = [&](std::string& role, const std::string& rule) -> Result<void> {
    if (role.empty()) role = kObserver;
    std::string names;
    for (const Role& known : roles) {
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
    RETURN_IF_ERROR(check_role(*rules.loopback_role, "insecure-loopback"));
  }
  return Policy(std::move(roles), std::move(rules));
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
