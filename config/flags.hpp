// The flags as given, and what the environment gives in their place.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.hpp"

namespace farport::config {

/// What settings' flags were given, by the flag's name without its dashes: a text each time. A flag that
/// takes no value has "".
using Given = std::map<std::string, std::vector<std::string>, std::less<>>;

/// Every flag and argument of every command that takes settings; a command leaves those that it doesn't have
/// empty.
struct Flags {
  Given given;

  std::vector<std::string> remotes;  ///< HOST:PORT or profiles.
  bool json = false;
  bool detach = false;  ///< Of `connect`.

  std::string command;                      ///< Of `can-i` and `check --as`: a command's name; empty: all.
  std::optional<std::string> as;            ///< Of `check`: an identity.
  std::optional<std::string> runtime_name;  ///< Of `check --as`: a runtime's name.

  std::string target;   ///< Of the commands that are about one runtime: AGENT[/RUNTIME].
  std::string runtime;  ///< The same runtime, by a flag.
  std::string output;
  std::string dump_type = "heap";
  bool stay = false;
  bool force = false;  ///< Replace the file.

  std::vector<std::string> profiles;   ///< Of `trace`.
  std::vector<std::string> providers;  ///< The same.
  std::string duration;
  std::string timeout;  ///< Of the commands that are about one runtime.
  std::optional<bool> rundown;
  bool no_resume = false;
  std::uint32_t buffer_mb = 256;
  std::string stopping_provider;
  std::string stopping_event;
  std::string stopping_payload;
  std::string format;  ///< Of the commands that print events: text, json or csv.

  std::vector<std::string> counters;  ///< Of `counters`.
  std::string interval;               ///< The same.
  std::uint32_t most_series = 1000;
  std::uint32_t most_histograms = 20;

  std::string level;                    ///< Of `logs`.
  std::vector<std::string> categories;  ///< The same.

  std::string order;         ///< Of `top`.
  std::uint32_t rounds = 0;  ///< The same.

  bool wall = false;  ///< Of `profile`.
  std::string event;
  std::uint32_t frequency = 99;
  std::uint32_t top = 0;  ///< The same: rows of a table.

  bool all = false;  ///< Of `can-i`: each command of the protocol; of `disconnect`: each mirror.

  std::vector<std::string> tool;

  std::string https_proxy;  ///< Of the environment, as other programs take it.
  std::string no_proxy;     ///< The same.
};

/// Looks a variable up; nothing where it isn't set. Handed in, so that tests have an environment of their
/// own.
using Environment = std::function<std::optional<std::string>(const std::string&)>;
/// The process's own environment.
[[nodiscard]] Environment process_environment();

/// Whether what is given says who we are and whom we trust, by a bundle or by three files: what sources of
/// less weight say of that doesn't count then.
[[nodiscard]] bool gives_credentials(const Given& given);

/// Fills what no flag gives from the FARPORT_* variables, and the proxies. Lists there are separated by
/// commas.
void take_environment(Flags& flags, const Environment& environment);

// From what flags and variables were given to values of settings.

/// Sets what `command`'s flags were given in a Configuration, or in one of its remotes. What is wrong goes to
/// `problems`, one line each, and leaves its value as it was. Lists replace those that were there.
void assign(const Given& given, std::string_view command, Configuration& target,
            std::vector<std::string>& problems);
void assign(const Given& given, std::string_view command, RemoteSettings& target,
            std::vector<std::string>& problems);

/// Sets one limit from its text: a whole number, a size ("16KiB"), or a duration ("10s", for some also
/// "off"). Errors name the limit and what it takes; for an unknown name, the one that was meant.
[[nodiscard]] Result<void> set_limit(auth::LimitSettings& limits, std::string_view name,
                                     std::string_view value);

/// The same from "NAME=VALUE".
[[nodiscard]] Result<void> set_limit(auth::LimitSettings& limits, std::string_view assignment);

/// Their names, as the file has them.
[[nodiscard]] std::vector<std::string> limit_names();

}  // namespace farport::config
