#include "config/flags.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/text.hpp"
#include "config/declarations.hpp"
#include "config/values.hpp"

namespace farport::config {
namespace {

/// Flags that set credentials.
constexpr std::string_view kCredentials[] = {"tls-cert", "tls-key", "tls-ca", "tls-bundle",
                                             "tls-passphrase-file"};

bool is_of_credentials(std::string_view flag) {
  return std::find(std::begin(kCredentials), std::end(kCredentials), flag) != std::end(kCredentials);
}

/// The items of a list with commas that aren't empty.
std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> items;
  while (!list.empty()) {
    const std::string_view item = take_until(list, ',');
    if (!item.empty()) items.emplace_back(item);
  }
  return items;
}

/// The flag's values from a variable; empty if the variable does not set the flag.
std::vector<std::string> texts_of(Takes takes, const std::string& value) {
  const bool yes = value == "1" || value == "true";
  const bool no = value == "0" || value == "false";
  switch (takes) {
    case Takes::nothing:
      return yes ? std::vector<std::string>{""} : std::vector<std::string>{};
    case Takes::maybe_one:
      if (no) return {};
      return {yes ? "" : value};
    case Takes::many:
      return split(value);
    case Takes::one:
      break;
  }
  return {value};
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
  };
}

bool gives_credentials(const Given& given) {
  const auto has = [&](const char* flag) { return given.contains(flag); };
  return has("tls-bundle") || (has("tls-cert") && has("tls-key") && has("tls-ca"));
}

void take_environment(Flags& flags, const Environment& environment) {
  const bool has_credentials = gives_credentials(flags.given);
  for (const Description& setting : descriptions()) {
    if (setting.flag.empty() || flags.given.contains(setting.flag)) continue;
    if (has_credentials && is_of_credentials(setting.flag)) continue;
    const auto value = environment(setting.variable);
    if (!value) continue;
    std::vector<std::string> texts = texts_of(setting.takes, *value);
    if (!texts.empty()) flags.given[setting.flag] = std::move(texts);
  }
  const auto either = [&](const char* name, const char* other) {
    return environment(name).value_or(environment(other).value_or(std::string()));
  };
  flags.https_proxy = either("HTTPS_PROXY", "https_proxy");
  flags.no_proxy = either("NO_PROXY", "no_proxy");
}

namespace {

using Texts = std::vector<std::string>;

/// Sets the value of one setting from the texts given to its flag.
template <typename Target>
struct Assignment {
  using K = Kinds<Target>;

  const Texts& texts;
  Target& target;
  Texts& problems;

  void operator()(const typename K::Text& kind) const { kind.in(target) = texts.front(); }
  void operator()(const typename K::Texts& kind) const { kind.in(target) = texts; }
  void operator()(const typename K::Boolean& kind) const { kind.in(target) = true; }
  void operator()(const typename K::OneOf& kind) const {
    set(parse_choice(kind.choice(), texts.front()), kind.in(target));
  }
  void operator()(const typename K::Path& kind) const {
    std::error_code error;
    const std::string& path = texts.front();
    kind.in(target) =
        kind.make_absolute ? std::filesystem::absolute(path, error).lexically_normal().string() : path;
  }
  void operator()(const typename K::Paths& kind) const {
    if (!kind.make_absolute) return void(kind.in(target) = texts);
    each(parse_path, kind.in(target));
  }
  void operator()(const typename K::Duration& kind) const {
    set(parse_duration(texts.front()), kind.in(target));
  }
  void operator()(const typename K::Addresses& kind) const { each(parse_address, kind.in(target)); }
  void operator()(const typename K::Sockets& kind) const { each(kind.parse, kind.in(target)); }
  void operator()(const typename K::Audit& kind) const { set(parse_audit(texts.front()), kind.in(target)); }
  void operator()(const typename K::Allow& kind) const {
    for (const std::string& text : texts) kind.in(target).push_back(short_grant(kind.kind, text));
  }
  void operator()(const typename K::AllowAll& kind) const {
    kind.in(target).push_back(allow_all(texts.back()));
  }
  void operator()(const typename K::AnyLimit& kind) const {
    for (const std::string& text : texts) {
      const Result<void> set = set_limit(kind.in(target), text);
      if (!set) problems.push_back(set.error().message());
    }
  }
  /// The other kinds have no flags.
  template <typename Other>
  void operator()(const Other&) const {}

 private:
  template <typename Value>
  bool set(Result<Value> value, Value& into) const {
    if (!value) {
      problems.push_back(value.error().message());
      return false;
    }
    into = std::move(*value);
    return true;
  }
  template <typename Value>
  void each(Result<Value> (*parse)(std::string_view), std::vector<Value>& into) const {
    into.clear();
    for (const std::string& text : texts) {
      if (Value value; set(parse(text), value)) into.push_back(std::move(value));
    }
  }
};

template <typename Target>
void assign_all(const Given& given, std::string_view command, Target& target, Texts& problems) {
  for (const Setting<Target>& setting : settings<Target>()) {
    const Commands& commands = setting.commands;
    const auto found = given.find(setting.flag);
    if (found == given.end() || std::find(commands.begin(), commands.end(), command) == commands.end())
      continue;
    std::visit(Assignment<Target>{found->second, target, problems}, setting.kind);
  }
}

/// Parses a value into a limit.
struct LimitSetter {
  auth::LimitSettings& limits;
  std::string what;
  std::string_view value;

  Result<void> operator()(const auth::LimitedCount& count) const {
    const auto number = number_in<std::uint64_t>(value);
    if (!number || *number == 0 || *number > count.most) {
      return fail("use", what, "it must be a whole number from 1 to " + std::to_string(count.most));
    }
    limits.*count.member = *number;
    return {};
  }
  Result<void> operator()(const auth::LimitedSize& range) const {
    const Result<std::uint64_t> size = parse_bytes(value);
    if (!size) return fail("use", what, size.error().message());
    if (*size < range.least || *size > range.most) {
      return fail(
          "use", what,
          "it must be from " + std::to_string(range.least) + " to " + std::to_string(range.most) + " bytes");
    }
    limits.*range.member = *size;
    return {};
  }
  Result<void> operator()(const auth::LimitedTime& duration) const {
    if (duration.may_be_off && value == "off") {
      limits.*duration.member = Milliseconds{0};
      return {};
    }
    const Result<Milliseconds> time = parse_duration(value);
    if (!time) return fail("use", what, time.error().message() + (duration.may_be_off ? ", or off" : ""));
    limits.*duration.member = *time;
    return {};
  }
};

/// Whether any flag or variable gives a grant.
bool gives_grants(const Given& given) {
  using K = Kinds<Configuration>;
  const auto& all = settings<Configuration>();
  return std::any_of(all.begin(), all.end(), [&](const Setting<Configuration>& setting) {
    const bool grants =
        std::holds_alternative<K::Allow>(setting.kind) || std::holds_alternative<K::AllowAll>(setting.kind);
    return grants && given.contains(setting.flag);
  });
}

/// Flags that give credentials, as a bundle or as three files, replace the file's credentials as a whole.
/// CRLs are kept.
void make_way(const Given& given, TlsFiles& tls) {
  if (gives_credentials(given)) tls = {.cert = {}, .key = {}, .ca = {}, .crl = tls.crl};
}

}  // namespace

void assign(const Given& given, std::string_view command, Configuration& target, Texts& problems) {
  // Grants come from one source only: a file must not widen what flags narrow.
  if (gives_grants(given)) target.grants.clear();
  make_way(given, target.tls);
  assign_all(given, command, target, problems);
}

void assign(const Given& given, std::string_view command, RemoteSettings& target, Texts& problems) {
  make_way(given, target.tls);
  assign_all(given, command, target, problems);
}

Result<void> set_limit(auth::LimitSettings& limits, std::string_view name, std::string_view value) {
  for (const auth::Limit& limit : auth::kLimits) {
    if (limit.name() != name) continue;
    return std::visit(LimitSetter{limits, std::string(name) + " = " + std::string(value), value},
                      limit.range);
  }
  const std::string meant = nearest(name, limit_names());
  return fail(
      "use the limit", name, "there is no such limit",
      meant.empty() ? "docs/configuration.md has them, under [limits]" : "did you mean \"" + meant + "\"?");
}

Result<void> set_limit(auth::LimitSettings& limits, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    return fail("use the limit", assignment, "it has no value", "write it as in: --limit sessions=100");
  }
  return set_limit(limits, assignment.substr(0, equals), assignment.substr(equals + 1));
}

Texts limit_names() {
  Texts names;
  for (const auth::Limit& limit : auth::kLimits) names.emplace_back(limit.name());
  return names;
}

}  // namespace farport::config
