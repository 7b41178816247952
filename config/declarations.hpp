// Every setting, declared once: the file's reader, the flags, the variables, --help and the documentation's
// tables all go by what stands here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/settings.hpp"
#include "config/values.hpp"

namespace farport::config {

// What a setting is: where it stands, what it may be, which member it fills, and how it is explained.

/// What a setting of a Target can be. Each kind leads to the member that takes the value.
template <typename Target>
struct Kinds {
  template <typename Value>
  using In = Value& (*)(Target&);

  struct Text {
    In<std::string> in;
  };
  struct Texts {
    In<std::vector<std::string>> in;
  };
  /// Texts, or whole numbers that stand for them.
  struct Words {
    In<std::vector<std::string>> in;
  };
  struct Numbers {
    In<std::vector<std::uint64_t>> in;
  };
  struct Boolean {
    In<bool> in;
  };
  struct OneOf {
    In<std::string> in;
    const Choice& (*choice)();
  };
  /// In the file, a path is relative to the file's directory.
  struct Path {
    In<std::string> in;
    bool make_absolute = false;  ///< Where a flag gives it, too: others are told of it.
  };
  struct Paths {
    In<std::vector<std::string>> in;
    bool make_absolute = false;
    std::string_view word{};  ///< One that is no path, and stays as it is.
  };
  struct Duration {
    In<Milliseconds> in;
  };
  struct Size {
    In<std::uint64_t> in;
  };
  struct Addresses {
    In<std::vector<Address>> in;
  };
  /// NAME=PATH behind a flag, a table of them in the file.
  struct Sockets {
    In<std::vector<NamedSocket>> in;
    Result<NamedSocket> (*parse)(std::string_view);
  };
  struct Audit {
    In<std::string> in;
  };
  /// "NAME" or "NAME=ROLE".
  struct Allow {
    In<std::vector<auth::Grant>> in;
    GrantKind kind;
  };
  /// True, or a role.
  struct AllowAll {
    In<std::vector<auth::Grant>> in;
  };
  /// One of the limits.
  struct Limit {
    In<auth::LimitSettings> in;
    const auth::Limit* limit;
  };
  /// Any of the limits, as NAME=VALUE.
  struct AnyLimit {
    In<auth::LimitSettings> in;
  };
  struct Roles {
    In<std::vector<auth::RoleRule>> in;
  };
  struct Grants {
    In<std::vector<auth::Grant>> in;
  };
  struct Remotes {
    In<std::map<std::string, RemoteSettings>> in;
  };

  using Any =
      std::variant<Text, Texts, Words, Numbers, Boolean, OneOf, Path, Paths, Duration, Size, Addresses,
                   Sockets, Audit, Allow, AllowAll, Limit, AnyLimit, Roles, Grants, Remotes>;
};

/// Leads from a structure to a member, or to a member of a member.
template <auto... Path>
inline constexpr auto at = [](auto& target) -> auto& {
  return (target.*....*Path);
};

/// Names of commands, as on the command line.
using Commands = std::span<const std::string_view>;

/// One setting of a Target.
template <typename Target>
struct Setting {
  std::string_view key = {};      ///< In the file, with its sections: "tls.cert"; empty: not in the file.
  std::string_view flag = {};     ///< Without its dashes; empty: there is none.
  std::string_view value = {};    ///< What the flag's value is called: "FILE".
  std::string_view help = {};     ///< A sentence without its full stop.
  std::string_view details = {};  ///< What the documentation says besides: Markdown, links from docs/.
  std::string_view default_text = {};  ///< Where the default isn't the member's own.
  Commands commands = {};              ///< Which take the flag.
  typename Kinds<Target>::Any kind;
};

// What only the agent is told: its settings, its limits, and what grants and roles hold.

/// The agent's part of the settings of a Configuration.
[[nodiscard]] std::vector<Setting<Configuration>> agent_settings();
[[nodiscard]] std::vector<Setting<auth::Grant>> grant_settings();
[[nodiscard]] std::vector<Setting<auth::RoleRule>> role_settings();

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

// The settings in words: for --help, the documentation and the completions.

/// How many values a flag takes.
enum class Takes { nothing, maybe_one, one, many };

/// One setting. What it doesn't have is empty.
struct Description {
  std::string key;       ///< In the file: "tls.cert", "remotes.NAME.select".
  std::string flag;      ///< Without its dashes.
  std::string variable;  ///< Of the environment: "FARPORT_TLS_CERT".
  std::string value;     ///< What the flag's value is called: "FILE".
  Takes takes = Takes::one;
  std::string type;    ///< "duration", "list of paths".
  std::string bounds;  ///< "1 to 1000000", "20 to 65536 bytes".
  std::vector<std::string> choices;
  std::string default_text;
  std::string help;                   ///< A sentence without its full stop.
  std::string details;                ///< Markdown.
  std::vector<std::string> commands;  ///< Which take the flag.

  /// Whether this command takes the flag.
  [[nodiscard]] bool is_flag_of(std::string_view command) const;
};

/// All settings, those of remotes, grants and roles included.
[[nodiscard]] const std::vector<Description>& descriptions();

}  // namespace farport::config
