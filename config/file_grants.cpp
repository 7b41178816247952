#include "config/file_grants.hpp"

#include "config/grants.hpp"

namespace farport::config {
namespace {

using auth::Grant;
using auth::IdentityFilter;
using auth::RoleRule;
using auth::RuntimeFilter;

const Schema<RoleRule>& role_schema() {
  static const Schema<RoleRule> schema{
      {"includes", [](Reader& r, const toml::node& n, RoleRule& role) { r.texts(n, role.includes); }},
      {"commands",
       [](Reader& r, const toml::node& n, RoleRule& role) {
         r.texts(n, role.commands);
         role.none = role.commands.empty();
       }},
  };
  return schema;
}

const Schema<RuntimeFilter>& runtimes_schema() {
  static const Schema<RuntimeFilter> schema{
      {"name", [](Reader& r, const toml::node& n, RuntimeFilter& f) { r.texts(n, f.name); }},
      {"command_line", [](Reader& r, const toml::node& n, RuntimeFilter& f) { r.texts(n, f.command_line); }},
      {"pid", [](Reader& r, const toml::node& n, RuntimeFilter& f) { r.numbers(n, f.pid); }},
      {"user", [](Reader& r, const toml::node& n, RuntimeFilter& f) { r.words(n, f.user); }},
  };
  return schema;
}

const Schema<IdentityFilter>& names_schema() {
  static const Schema<IdentityFilter> schema{
      {"cn", [](Reader& r, const toml::node& n, IdentityFilter& f) { r.texts(n, f.cn); }},
      {"ou", [](Reader& r, const toml::node& n, IdentityFilter& f) { r.texts(n, f.ou); }},
      {"dns", [](Reader& r, const toml::node& n, IdentityFilter& f) { r.texts(n, f.dns); }},
      {"uri", [](Reader& r, const toml::node& n, IdentityFilter& f) { r.texts(n, f.uri); }},
      {"ip", [](Reader& r, const toml::node& n, IdentityFilter& f) { r.texts(n, f.ip); }},
      {"pin", [](Reader& r, const toml::node& n, IdentityFilter& f) { r.texts(n, f.pin); }},
  };
  return schema;
}

const Schema<Grant>& grant_schema() {
  static const Schema<Grant> schema{
      {"cn", [](Reader& r, const toml::node& n, Grant& g) { r.texts(n, g.identity.cn); }},
      {"ou", [](Reader& r, const toml::node& n, Grant& g) { r.texts(n, g.identity.ou); }},
      {"dns", [](Reader& r, const toml::node& n, Grant& g) { r.texts(n, g.identity.dns); }},
      {"uri", [](Reader& r, const toml::node& n, Grant& g) { r.texts(n, g.identity.uri); }},
      {"ip", [](Reader& r, const toml::node& n, Grant& g) { r.texts(n, g.identity.ip); }},
      {"pin", [](Reader& r, const toml::node& n, Grant& g) { r.texts(n, g.identity.pin); }},
      {"all", [](Reader& r, const toml::node& n, Grant& g) { r.flag(n, g.identity.all); }},
      {"role", [](Reader& r, const toml::node& n, Grant& g) { r.text(n, g.role); }},
      {"runtimes",
       [](Reader& r, const toml::node& n, Grant& g) { read_table(r, n, runtimes_schema(), g.runtimes); }},
  };
  return schema;
}

void read_short(Reader& reader, const toml::node& node, GrantKind kind, std::vector<Grant>& grants) {
  std::vector<std::string> texts;
  reader.texts(node, texts);
  for (const std::string& text : texts) grants.push_back(short_grant(kind, text));
}

const Schema<std::vector<Grant>>& allow_schema() {
  using Grants = std::vector<Grant>;
  static const Schema<Grants> schema{
      {"cn", [](Reader& r, const toml::node& n, Grants& g) { read_short(r, n, GrantKind::cn, g); }},
      {"dns", [](Reader& r, const toml::node& n, Grants& g) { read_short(r, n, GrantKind::dns, g); }},
      {"uri", [](Reader& r, const toml::node& n, Grants& g) { read_short(r, n, GrantKind::uri, g); }},
      {"ip", [](Reader& r, const toml::node& n, Grants& g) { read_short(r, n, GrantKind::ip, g); }},
      {"all",
       [](Reader& r, const toml::node& n, Grants& g) {
         const auto flag = n.value_exact<bool>();
         const auto role = n.value_exact<std::string>();
         if (!flag && !role) return r.wrong_type(n, "true, false or a role");
         if (role || *flag) g.push_back(allow_all(role.value_or("")));
       }},
  };
  return schema;
}

}  // namespace

void read_roles(Reader& reader, const toml::node& node, std::vector<RoleRule>& roles) {
  reader.free_table(node, [&](const std::string& name, const toml::node& value) {
    RoleRule& role = roles.emplace_back();
    role.name = name;
    read_table(reader, value, role_schema(), role);
  });
}

void read_grants(Reader& reader, const toml::node& node, std::vector<Grant>& grants) {
  int number = 0;
  reader.each(node, [&](const toml::node& element) {
    Grant& grant = grants.emplace_back();
    grant.text = "grant " + std::to_string(++number);
    read_table(reader, element, grant_schema(), grant);
  });
}

void read_allow(Reader& reader, const toml::node& node, std::vector<Grant>& grants) {
  read_table(reader, node, allow_schema(), grants);
}

void read_names(Reader& reader, const toml::node& node, IdentityFilter& filter) {
  read_table(reader, node, names_schema(), filter);
  if (node.is_table() && filter.empty() && reader.ok()) {
    reader.problem(node.source(), "this asks for nothing: give it cn, ou, dns, uri, ip or pin");
  }
}

}  // namespace farport::config
