// Setting: every setting, declared once for the file's reader, the flags, the variables, --help and the
// documentation.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/settings.hpp"
#include "config/values.hpp"

namespace farport::config {

/// The kinds of values that a setting of a Target can have. Each kind refers to the member that it sets.
template <typename Target>
struct Kinds {
  template <typename Value>
  using In = Value& (*)(Target&);

  template <typename Value>
  struct Of {
    In<Value> in;
  };
  struct Text : Of<std::string> {};
  struct Texts : Of<std::vector<std::string>> {};
  /// Strings, or whole numbers that are converted to strings.
  struct Words : Of<std::vector<std::string>> {};
  struct Numbers : Of<std::vector<std::uint64_t>> {};
  /// A whole number from 1 on.
  struct Count : Of<std::uint64_t> {};
  /// With or without a fraction.
  struct Number : Of<std::optional<double>> {};
  struct Boolean : Of<bool> {};
  struct OneOf {
    In<std::string> in;
    const Choice& (*choice)();
  };
  /// A path. In the file it is relative to the file's directory.
  struct Path {
    In<std::string> in;
    bool make_absolute = false;  ///< Also if a flag sets it, since other programs see it.
  };
  struct Paths {
    In<std::vector<std::string>> in;
    bool make_absolute = false;
    std::string_view word{};  ///< A word that is not a path and is kept as it is.
  };
  struct Duration : Of<Milliseconds> {};
  struct Size : Of<std::uint64_t> {};
  struct Addresses : Of<std::vector<Address>> {};
  /// NAME=PATH as a flag, a table in the file.
  struct Sockets {
    In<std::vector<NamedPath>> in;
    Result<NamedPath> (*parse)(std::string_view);
  };
  struct Audit : Of<std::string> {};
  /// "NAME" or "NAME=ROLE".
  struct Allow {
    In<std::vector<auth::Grant>> in;
    GrantKind kind;
  };
  /// True, or the name of a role.
  struct AllowAll : Of<std::vector<auth::Grant>> {};
  /// One of the limits.
  struct Limit {
    In<auth::LimitSettings> in;
    const auth::Limit* limit;
  };
  /// Any of the limits, as NAME=VALUE.
  struct AnyLimit : Of<auth::LimitSettings> {};
  struct Roles : Of<std::vector<auth::RoleRule>> {};
  struct Grants : Of<std::vector<auth::Grant>> {};
  struct Egress : Of<std::vector<EgressSettings>> {};
  struct Rules : Of<std::vector<RuleSettings>> {};
  struct Remotes : Of<std::map<std::string, RemoteSettings>> {};

  using Any = std::variant<Text, Texts, Words, Numbers, Count, Number, Boolean, OneOf, Path, Paths, Duration,
                           Size, Addresses, Sockets, Audit, Allow, AllowAll, Limit, AnyLimit, Roles, Grants,
                           Egress, Rules, Remotes>;
};

/// A function from a structure to its member, or to a member of its member.
template <auto... Path>
inline constexpr auto at = [](auto& target) -> auto& {
  return (target.*....*Path);
};

/// Names of commands, as on the command line.
using Commands = std::span<const std::string_view>;

/// One setting of a Target.
template <typename Target>
struct Setting {
  std::string_view key = {};           ///< In the file, with its sections: "tls.cert"; empty: flag only.
  std::string flag = {};               ///< Without dashes; empty: see complete().
  bool file_only = false;              ///< Has no flag.
  std::string_view value = {};         ///< Placeholder for the flag's value: "FILE".
  std::string_view help = {};          ///< A sentence without its full stop.
  std::string_view details = {};       ///< More text for the documentation: Markdown, links from docs/.
  std::string_view default_text = {};  ///< If it is not the member's own value.
  Commands commands = {};              ///< Those that take the flag.
  typename Kinds<Target>::Any kind;
};

/// Fills in what the settings leave out: their commands, and their flags, named after the keys: "tls-cert".
template <typename Target>
void complete(std::vector<Setting<Target>>& all, Commands commands) {
  for (Setting<Target>& setting : all) {
    if (setting.commands.empty()) setting.commands = commands;
    if (!setting.flag.empty() || setting.file_only) continue;
    for (const char c : setting.key) setting.flag += c == '.' || c == '_' ? '-' : c;
  }
}

/// The agent's settings, limits included, and those of elements of grants, roles, stores and rules.
[[nodiscard]] std::vector<Setting<Configuration>> agent_settings();
[[nodiscard]] std::vector<Setting<auth::Grant>> grant_settings();
[[nodiscard]] std::vector<Setting<auth::RoleRule>> role_settings();
[[nodiscard]] std::vector<Setting<EgressSettings>> egress_settings();
[[nodiscard]] std::vector<Setting<RuleSettings>> rule_settings();

/// The settings of a Target, in the order of the documentation.
template <typename Target>
const std::vector<Setting<Target>>& settings();
template <>
const std::vector<Setting<Configuration>>& settings();
template <>
const std::vector<Setting<RemoteSettings>>& settings();  ///< Their keys stand below remotes.NAME.
template <>
const std::vector<Setting<auth::Grant>>& settings();  ///< Of an element of [[grants]].
template <>
const std::vector<Setting<auth::RoleRule>>& settings();  ///< Their keys stand below roles.NAME.
template <>
const std::vector<Setting<EgressSettings>>& settings();  ///< Of an element of [[egress]].
template <>
const std::vector<Setting<RuleSettings>>& settings();  ///< Of an element of [[rules]].

/// How many values a flag takes.
enum class Takes { nothing, maybe_one, one, many };

/// A setting in words, for --help, the documentation and the completions. Missing parts are empty.
struct Description {
  std::string key;       ///< In the file: "tls.cert", "remotes.NAME.select".
  std::string flag;      ///< Without its dashes.
  std::string variable;  ///< Environment variable: "FARPORT_TLS_CERT".
  std::string value;     ///< Placeholder for the flag's value: "FILE".
  Takes takes = Takes::one;
  std::string type;    ///< "duration", "list of paths".
  std::string bounds;  ///< "1 to 1000000", "20 to 65536 bytes".
  std::vector<std::string> choices;
  std::string default_text;
  std::string help;                   ///< A sentence without its full stop.
  std::string details;                ///< Markdown.
  std::vector<std::string> commands;  ///< Those that take the flag.

  /// Whether this command takes the flag.
  [[nodiscard]] bool is_flag_of(std::string_view command) const;
  /// Whether most commands take the flag. Such flags are described once, in farport-options(7).
  [[nodiscard]] bool is_common() const { return !flag.empty() && commands.size() > 10; }
};

/// All settings, those of remotes, grants, roles and stores included.
[[nodiscard]] const std::vector<Description>& descriptions();

}  // namespace farport::config
