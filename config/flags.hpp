// Flags: the command line's flags and arguments, and the environment's values in their place.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.hpp"

namespace farport::config {

/// The texts given to settings' flags, by the flag's name without dashes. A flag without a value has "".
using Given = std::map<std::string, std::vector<std::string>, std::less<>>;

/// Flags and arguments that several commands share, or that need more than parsing. Those that a command
/// doesn't have are empty; its other ones are parsed into its settings.
struct Flags {
  Given given;

  std::vector<std::string> remotes;  ///< HOST:PORT or profiles.
  bool json = false;
  bool detach = false;  ///< For `connect`.

  std::string command;                      ///< For `can-i` and `check --as`: a command's name; empty: all.
  std::optional<std::string> as;            ///< For `check`: an identity.
  std::optional<std::string> runtime_name;  ///< For `check --as`: a runtime's name.

  std::string target;   ///< For commands about one runtime: AGENT[/RUNTIME].
  std::string runtime;  ///< The same runtime, given by a flag.
  std::string output;
  bool force = false;        ///< Replace the file.
  std::string longest_stop;  ///< For `dump`.
  std::string duration;
  std::string crash;       ///< The id of a runtime that has ended.
  std::string timeout;     ///< For commands about one runtime.
  std::string format;      ///< For commands that print events: text, json or csv.
  std::string interval;    ///< For `counters` and `top`.
  std::string event;       ///< For `profile`.
  bool no_resume = false;  ///< For `trace`.
  bool keep = false;       ///< For `trace`, `profile`, `gcdump` and `dump`.

  bool all = false;  ///< For `can-i`: each command of the protocol; for `disconnect`: each mirror.

  std::vector<std::string> tool;

  std::string https_proxy;  ///< From the variables that other programs use.
  std::string no_proxy;     ///< From the variables that other programs use.
};

/// Looks up an environment variable; empty if it isn't set. Injected for tests.
using Environment = std::function<std::optional<std::string>(const std::string&)>;
/// Reads the process's own environment.
[[nodiscard]] Environment process_environment();

/// Whether the flags give credentials, as a bundle or as three files. Sources of lower priority then don't
/// count.
[[nodiscard]] bool gives_credentials(const Given& given);

/// Sets flags that were not given from FARPORT_* variables, and the proxies. Lists in variables are separated
/// by commas.
void take_environment(Flags& flags, const Environment& environment);

/// Sets the values given to `command`'s flags in a Configuration or one of its remotes. Invalid values are
/// left out and reported in `problems`, one line each. Lists replace earlier ones.
void assign(const Given& given, std::string_view command, Configuration& target,
            std::vector<std::string>& problems);
void assign(const Given& given, std::string_view command, RemoteSettings& target,
            std::vector<std::string>& problems);

/// Sets one limit from its text: a whole number, a size ("16KiB"), or a duration ("10s", for some also
/// "off"). Errors name the limit and valid values, and for an unknown name the nearest known one.
[[nodiscard]] Result<void> set_limit(auth::LimitSettings& limits, std::string_view name,
                                     std::string_view value);

/// The same for "NAME=VALUE".
[[nodiscard]] Result<void> set_limit(auth::LimitSettings& limits, std::string_view assignment);

/// The limits' names, as in the file.
[[nodiscard]] std::vector<std::string> limit_names();

}  // namespace farport::config
