#include "config/grants.hpp"

#include "config/values.hpp"

namespace farport::config {

auth::Grant short_grant(GrantKind kind, const std::string& text) {
  auto [value, role] = split_role(text);
  auth::Grant grant;
  grant.role = role;
  switch (kind) {
    case GrantKind::cn:
      grant.text = "allow-cn=" + text;
      grant.identity.cn.push_back(value);
      break;
    case GrantKind::dns:
      grant.text = "allow-dns=" + text;
      grant.identity.dns.push_back(value);
      break;
    case GrantKind::uri:
      grant.text = "allow-uri=" + text;
      grant.identity.uri.push_back(value);
      break;
    case GrantKind::ip:
      grant.text = "allow-ip=" + text;
      grant.identity.ip.push_back(value);
      break;
  }
  return grant;
}

auth::Grant allow_all(const std::string& role) {
  auth::Grant grant;
  grant.text = role.empty() ? "allow-all" : "allow-all=" + role;
  grant.identity.all = true;
  grant.role = role;
  return grant;
}

}  // namespace farport::config
