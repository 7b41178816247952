#include "config/file.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/files.hpp"
#include "config/declarations.hpp"
#include "config/file_reader.hpp"
#include "config/flags.hpp"
#include "config/rules.hpp"

namespace farport::config {
namespace {

constexpr std::size_t kLargestFile = std::size_t{1024} * 1024;

template <typename Target>
void read_table(Reader& reader, const toml::node& node, const std::string& section, Target& target);

/// Counts are numbers in the file, sizes and durations are strings.
void read_limit(Reader& reader, const toml::node& node, std::string_view name, auth::LimitSettings& limits) {
  std::vector<std::string> words;
  reader.words(node, words);
  if (words.size() != 1 || words.front().empty()) return;
  const Result<void> set = set_limit(limits, name, words.front());
  if (!set) reader.problem(node.source(), set.error().message());
}

void read_sockets(Reader& reader, const toml::node& node, std::vector<NamedPath>& sockets) {
  reader.free_table(node, [&](const std::string& name, const toml::node& value) {
    reader.path(value, sockets.emplace_back(NamedPath{name, {}}).path);
  });
}

void read_allow(Reader& reader, const toml::node& node, GrantKind kind, std::vector<auth::Grant>& grants) {
  std::vector<std::string> texts;
  reader.texts(node, texts);
  for (const std::string& text : texts) grants.push_back(short_grant(kind, text));
}

void read_allow_all(Reader& reader, const toml::node& node, std::vector<auth::Grant>& grants) {
  const auto flag = node.value_exact<bool>();
  const auto role = node.value_exact<std::string>();
  if (!flag && !role) return reader.wrong_type(node, "true, false or a role");
  if (role || *flag) grants.push_back(allow_all(role.value_or("")));
}

void read_roles(Reader& reader, const toml::node& node, std::vector<auth::RoleRule>& roles) {
  reader.free_table(node, [&](const std::string& name, const toml::node& value) {
    auth::RoleRule& role = roles.emplace_back();
    role.name = name;
    read_table(reader, value, "", role);
    role.none = role.commands.empty() && value.is_table() && value.as_table()->contains("commands");
  });
}

void read_grants(Reader& reader, const toml::node& node, std::vector<auth::Grant>& grants) {
  int number = 0;
  reader.each(node, [&](const toml::node& element) {
    auth::Grant& grant = grants.emplace_back();
    grant.text = "grant " + std::to_string(++number);
    read_table(reader, element, "", grant);
  });
}

void read_egress(Reader& reader, const toml::node& node, std::vector<EgressSettings>& stores) {
  reader.each(node, [&](const toml::node& element) {
    EgressSettings& store = stores.emplace_back();
    read_table(reader, element, "", store);
    const Result<void> usable = check_store(store);
    if (reader.ok() && !usable) reader.problem(element.source(), usable.error().message());
  });
}

void read_rules(Reader& reader, const toml::node& node, std::vector<RuleSettings>& rules) {
  reader.each(node, [&](const toml::node& element) {
    RuleSettings& rule = rules.emplace_back();
    read_table(reader, element, "", rule);
    const Result<void> usable = check_rule(rule);
    if (reader.ok() && !usable) reader.problem(element.source(), usable.error().message());
  });
}

/// Checks that a remote has what it needs, and that `verify` is not empty.
void check_remote(Reader& reader, const toml::table& table, const RemoteSettings& remote) {
  if (remote.addresses.empty() && remote.reach.empty() && remote.via.empty() && !table.contains("address")) {
    reader.problem(table.source(), "the remote \"" + remote.profile + "\" has no address, reach or via");
  }
  const toml::node* const verify = table.get("verify");
  if (verify != nullptr && verify->is_table() && remote.verify.empty() && reader.ok()) {
    reader.problem(verify->source(), "this asks for nothing: give it cn, ou, dns, uri, ip or pin");
  }
}

void read_remotes(Reader& reader, const toml::node& node, std::map<std::string, RemoteSettings>& remotes) {
  reader.free_table(node, [&](const std::string& name, const toml::node& value) {
    RemoteSettings& remote = remotes[name];
    remote.profile = name;
    read_table(reader, value, "", remote);
    if (value.is_table()) check_remote(reader, *value.as_table(), remote);
  });
}

/// Reads the value of one setting from a node.
template <typename Target>
struct Reading {
  using K = Kinds<Target>;

  Reader& reader;
  const toml::node& node;
  std::string_view name;
  Target& target;

  void operator()(const typename K::Text& kind) const { reader.text(node, kind.in(target)); }
  void operator()(const typename K::Texts& kind) const { reader.texts(node, kind.in(target)); }
  void operator()(const typename K::Words& kind) const { reader.words(node, kind.in(target)); }
  void operator()(const typename K::Numbers& kind) const { reader.numbers(node, kind.in(target)); }
  void operator()(const typename K::Count& kind) const { reader.count(node, kind.in(target)); }
  void operator()(const typename K::Number& kind) const { reader.number(node, kind.in(target)); }
  void operator()(const typename K::Boolean& kind) const { reader.flag(node, kind.in(target)); }
  void operator()(const typename K::OneOf& kind) const {
    reader.choice(node, kind.in(target), kind.choice().words);
  }
  void operator()(const typename K::Path& kind) const { reader.path(node, kind.in(target)); }
  void operator()(const typename K::Paths& kind) const { reader.paths(node, kind.in(target), kind.word); }
  void operator()(const typename K::Duration& kind) const { reader.duration(node, kind.in(target)); }
  void operator()(const typename K::Size& kind) const { reader.bytes(node, kind.in(target)); }
  void operator()(const typename K::Addresses& kind) const { reader.addresses(node, kind.in(target)); }
  void operator()(const typename K::Sockets& kind) const { read_sockets(reader, node, kind.in(target)); }
  void operator()(const typename K::Audit& kind) const { reader.audit(node, kind.in(target)); }
  void operator()(const typename K::Allow& kind) const {
    read_allow(reader, node, kind.kind, kind.in(target));
  }
  void operator()(const typename K::AllowAll& kind) const { read_allow_all(reader, node, kind.in(target)); }
  void operator()(const typename K::Limit& kind) const { read_limit(reader, node, name, kind.in(target)); }
  /// Exists as a flag only.
  void operator()(const typename K::AnyLimit&) const {}
  void operator()(const typename K::Roles& kind) const { read_roles(reader, node, kind.in(target)); }
  void operator()(const typename K::Grants& kind) const { read_grants(reader, node, kind.in(target)); }
  void operator()(const typename K::Egress& kind) const { read_egress(reader, node, kind.in(target)); }
  void operator()(const typename K::Rules& kind) const { read_rules(reader, node, kind.in(target)); }
  void operator()(const typename K::Remotes& kind) const { read_remotes(reader, node, kind.in(target)); }
};

/// The keys in a section of a Target: "" is its own table, "log." the section of that name.
template <typename Target>
std::vector<std::string> words_of(const std::string& section) {
  std::vector<std::string> words;
  for (const Setting<Target>& setting : settings<Target>()) {
    if (setting.key.empty() || !setting.key.starts_with(section)) continue;
    const std::string_view rest = setting.key.substr(section.size());
    words.emplace_back(rest.substr(0, rest.find('.')));
  }
  return words;
}

/// Reads a table as the section of that name.
template <typename Target>
void read_table(Reader& reader, const toml::node& node, const std::string& section, Target& target) {
  const toml::table* table = node.as_table();
  if (table == nullptr) return reader.wrong_type(node, "a table");
  const std::vector<std::string> words = words_of<Target>(section);
  const std::vector<Setting<Target>>& all = settings<Target>();
  for (const auto& [key, value] : *table) {
    const std::string name(key.str());
    if (std::find(words.begin(), words.end(), name) == words.end()) {
      const std::string meant = nearest(name, words);
      reader.problem(key.source(), "unknown key \"" + name + "\"" +
                                       (meant.empty() ? "" : "; did you mean \"" + meant + "\"?"));
      continue;
    }
    const auto setting = std::find_if(
        all.begin(), all.end(), [&](const Setting<Target>& each) { return each.key == section + name; });
    if (setting == all.end()) {
      read_table(reader, value, section + name + ".", target);
    } else {
      std::visit(Reading<Target>{reader, value, name, target}, setting->kind);
    }
  }
}

}  // namespace

Resolved<Configuration> parse_file(const std::string& text, const std::string& path) {
  Reader reader(path);
  Configuration configuration;
  try {
    const toml::table table = toml::parse(text, path);
    read_table(reader, table, "", configuration);
  } catch (const toml::parse_error& error) {
    reader.problem(error.source(), std::string(error.description()));
  }
  if (!reader.ok()) return tl::unexpected(reader.take_errors());
  return configuration;
}

Resolved<Configuration> read_file(const std::string& path) {
  const auto text = read_regular_file("the configuration", path, kLargestFile);
  if (!text) return tl::unexpected(Problems{text.error().message()});
  return parse_file(*text, path);
}

std::string default_file() {
  const char* config_home = std::getenv("XDG_CONFIG_HOME");
  if (config_home != nullptr && config_home[0] == '/')
    return std::string(config_home) + "/farport/config.toml";
  const char* home = std::getenv("HOME");
  return home == nullptr ? std::string() : std::string(home) + "/.config/farport/config.toml";
}

}  // namespace farport::config
