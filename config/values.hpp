// Parsing values of settings: addresses, durations, sizes, NAME=PATH pairs, and near misses of words.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.hpp"

namespace farport::config {

/// "10.0.0.2:9000", "orders.example:9000", "[fd00::2]:9000". The port is 0 to 65535 and must be there.
[[nodiscard]] Result<Address> parse_address(std::string_view text);
/// The inverse.
[[nodiscard]] std::string to_string(const Address& address);

/// An agent and, if it is named, one of its runtimes.
struct Target {
  std::string agent;
  std::string runtime;
};
/// Splits "AGENT/RUNTIME". If the agent is reached by a command, whose text has slashes, a double slash
/// precedes the runtime.
[[nodiscard]] Target split_target(const std::string& text);

/// Like parse_address(), but ":9100" and "9100" mean that port of 127.0.0.1.
[[nodiscard]] Result<Address> parse_admin_address(std::string_view text);

/// Whether the text names an agent that a command reaches: ssh://…, docker://…, podman://… or k8s://….
[[nodiscard]] bool is_reach(std::string_view text);

/// Parses "500ms", "5s", "2m", "1h": a whole number above zero with a unit.
[[nodiscard]] Result<Milliseconds> parse_duration(std::string_view text);
/// The inverse, with the largest unit that gives a whole number.
[[nodiscard]] std::string to_string(Milliseconds duration);

/// Like parse_duration(), and also accepts other tools' forms: "30" for seconds, "00:00:30" for hours,
/// minutes and seconds, "1:00:00:00" with days.
[[nodiscard]] Result<Milliseconds> parse_time_span(std::string_view text);

/// A path such as "/diag/farport.sock", made absolute from the working directory.
[[nodiscard]] Result<std::string> parse_path(std::string_view text);

/// Parses "orders=/run/orders.sock". The path is made absolute from the working directory.
[[nodiscard]] Result<NamedPath> parse_named_socket(std::string_view text);

/// The same, with the name optional: it is empty for "/tmp/trace.sock".
[[nodiscard]] Result<NamedPath> parse_tool_socket(std::string_view text);

/// Parses "64GiB", "500MiB", "20KiB", "1000": bytes, above zero.
[[nodiscard]] Result<std::uint64_t> parse_bytes(std::string_view text);
/// The inverse, with the largest unit that gives a whole number.
[[nodiscard]] std::string bytes_to_string(std::uint64_t bytes);

/// "alice=operator", split at the last "="; without one, the role is empty.
struct WithRole {
  std::string value;
  std::string role;
};
[[nodiscard]] WithRole split_role(std::string_view text);

enum class GrantKind { cn, dns, uri, ip, local };
/// A grant for all runtimes, from "NAME" or "NAME=ROLE".
[[nodiscard]] auth::Grant short_grant(GrantKind kind, const std::string& text);
/// A grant for every certificate of the CA. An empty role means the default one.
[[nodiscard]] auth::Grant allow_all(const std::string& role);

/// The audit's destination: "stderr", "syslog", "off", or a path, which is made absolute.
[[nodiscard]] Result<std::string> parse_audit(std::string_view text);

/// A fixed set of words for a setting.
struct Choice {
  std::string what;  ///< What is done by it, for error messages.
  std::vector<std::string> words;
};
[[nodiscard]] Result<std::string> parse_choice(const Choice& choice, std::string_view text);

/// The word that `wrong` was probably meant to be, at most two edits away, or one if it is short; empty if
/// there is none.
[[nodiscard]] std::string nearest(std::string_view wrong, const std::vector<std::string>& words);

/// Fails if a word is not one of those. `what` is used: "use …".
[[nodiscard]] Result<void> check_word(const std::string& what, const std::string& word,
                                      std::span<const std::string_view> known);
/// Whether it consists of letters, digits, "-" and "_".
[[nodiscard]] bool is_simple_name(std::string_view name);
/// Fails if an argument of a command has something in braces that is no variable, or if the program has.
[[nodiscard]] Result<void> check_command(const std::string& what, const std::vector<std::string>& command,
                                         std::span<const std::string_view> variables);

/// What an agent keeps.
inline constexpr std::array<std::string_view, 11> kArtifactKinds{
    "crash", "trace",      "recent", "dump",   "modules", "counters",
    "logs",  "exceptions", "stacks", "gcdump", "profile"};

/// The variables that tell a store's command about an artifact: "{file}" in its arguments, FARPORT_FILE in
/// its environment.
inline constexpr std::array<std::string_view, 10> kStoreVariables{
    "file", "id", "kind", "time", "host", "pod", "container", "runtime", "size", "sha256"};
/// Fails if a store has no name or command, or asks for kinds or variables that don't exist.
[[nodiscard]] Result<void> check_store(const EgressSettings& store);

/// An instrument of a meter or of an EventSource, from "System.Runtime[cpu-usage]".
struct CounterName {
  std::string provider;
  std::string name;
  bool event_source = false;  ///< By "EventCounters\\System.Runtime[cpu-usage]": not of a meter of that name.
};
[[nodiscard]] Result<CounterName> parse_counter(std::string_view text);

/// $TMPDIR or else /tmp, where runtimes put their sockets and stock tools look for them.
[[nodiscard]] std::string temporary_directory();

}  // namespace farport::config
