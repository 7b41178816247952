// The flags as given, and what the environment gives in their place.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

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

  std::string dump_target;  ///< Of `dump`: AGENT[/RUNTIME].
  std::string output;
  std::string dump_type = "heap";
  bool stay = false;
  bool force = false;  ///< Of `dump`: replace the file.
  bool all = false;    ///< Of `can-i`: each command of the protocol; of `disconnect`: each mirror.

  std::vector<std::string> tool;
};

/// Looks a variable up; nothing where it isn't set. Handed in, so that tests have an environment of their
/// own.
using Environment = std::function<std::optional<std::string>(const std::string&)>;
/// The process's own environment.
[[nodiscard]] Environment process_environment();

/// Fills what no flag gives from the FARPORT_* variables. Lists there are separated by commas.
void take_environment(Flags& flags, const Environment& environment);

}  // namespace farport::config
