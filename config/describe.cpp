#include "config/describe.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "config/declarations.hpp"
#include "config/values.hpp"

namespace farport::config {
namespace {

/// The variable that stands for a flag.
std::string variable_of(std::string_view flag) {
  std::string name = "FARPORT_";
  for (const char c : flag)
    name += c == '-' ? '_' : (c >= 'a' && c <= 'z') ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

std::string duration_or_off(Milliseconds duration) {
  return duration.count() == 0 ? "off" : to_string(duration);
}

/// What a kind of value is, and its default.
template <typename Target>
struct Describer {
  using K = Kinds<Target>;

  Description& into;
  Target defaults{};

  void operator()(const typename K::Text& kind) { is("string", Takes::one, kind.in(defaults)); }
  void operator()(const typename K::Texts&) { is("list of strings", Takes::many); }
  void operator()(const typename K::Words&) { is("list of strings or whole numbers", Takes::many); }
  void operator()(const typename K::Numbers&) { is("list of whole numbers", Takes::many); }
  void operator()(const typename K::Boolean& kind) {
    is("boolean", Takes::nothing, kind.in(defaults) ? "true" : "false");
  }
  void operator()(const typename K::OneOf& kind) {
    is("choice", Takes::one, kind.in(defaults));
    into.choices = kind.choice().words;
  }
  void operator()(const typename K::Path& kind) { is("path", Takes::one, kind.in(defaults)); }
  void operator()(const typename K::Paths&) { is("list of paths", Takes::many); }
  void operator()(const typename K::Duration& kind) {
    is("duration", Takes::one, to_string(kind.in(defaults)));
  }
  void operator()(const typename K::Size& kind) {
    is("size", Takes::one, bytes_to_string(kind.in(defaults)));
  }
  void operator()(const typename K::Addresses&) { is("list of addresses", Takes::many); }
  void operator()(const typename K::Sockets&) { is("table of paths", Takes::many); }
  void operator()(const typename K::Audit& kind) { is("string", Takes::one, kind.in(defaults)); }
  void operator()(const typename K::Allow&) { is("list of strings", Takes::many); }
  void operator()(const typename K::AllowAll&) { is("boolean or string", Takes::maybe_one); }
  void operator()(const typename K::Limit& kind) {
    const auth::LimitSettings& limits = kind.in(defaults);
    std::visit([&](const auto& range) { describe(range, limits); }, kind.limit->range);
  }
  void operator()(const typename K::AnyLimit&) { is("list of limits", Takes::many); }
  void operator()(const typename K::Roles&) { is("table of roles", Takes::many); }
  void operator()(const typename K::Grants&) { is("list of grants", Takes::many); }
  void operator()(const typename K::Remotes&) { is("table of remotes", Takes::many); }

 private:
  void is(std::string_view type, Takes takes, std::string default_text = {}) {
    into.type = type;
    into.takes = takes;
    if (into.default_text.empty()) into.default_text = std::move(default_text);
  }
  void describe(const auth::LimitedCount& range, const auth::LimitSettings& limits) {
    is("whole number", Takes::one, std::to_string(limits.*range.member));
    into.bounds = fmt::format("1 to {}", range.most);
  }
  void describe(const auth::LimitedSize& range, const auth::LimitSettings& limits) {
    is("size", Takes::one, bytes_to_string(limits.*range.member));
    into.bounds = fmt::format("{} to {} bytes", range.least, range.most);
  }
  void describe(const auth::LimitedTime& range, const auth::LimitSettings& limits) {
    is(range.may_be_off ? "duration or off" : "duration", Takes::one, duration_or_off(limits.*range.member));
  }
};

/// `prefix`: the sections above a Target's keys.
template <typename Target>
void describe_all(std::string_view prefix, std::vector<Description>& all) {
  for (const Setting<Target>& setting : settings<Target>()) {
    Description& description = all.emplace_back();
    if (!setting.key.empty()) description.key = std::string(prefix) + std::string(setting.key);
    description.flag = setting.flag;
    if (!setting.flag.empty()) description.variable = variable_of(setting.flag);
    description.value = setting.value;
    description.help = setting.help;
    description.details = setting.details;
    description.default_text = setting.default_text;
    for (const std::string_view command : setting.commands) description.commands.emplace_back(command);
    std::visit(Describer<Target>{description}, setting.kind);
  }
}

std::vector<Description> describe_everything() {
  std::vector<Description> all;
  describe_all<Configuration>("", all);
  describe_all<RemoteSettings>("remotes.NAME.", all);
  describe_all<auth::Grant>("grants.", all);
  describe_all<auth::RoleRule>("roles.NAME.", all);
  return all;
}

}  // namespace

bool Description::is_flag_of(std::string_view command) const {
  return !flag.empty() && std::find(commands.begin(), commands.end(), command) != commands.end();
}

const std::vector<Description>& descriptions() {
  static const std::vector<Description> all = describe_everything();
  return all;
}

}  // namespace farport::config
