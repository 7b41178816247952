// The small languages in settings: addresses, durations, NAME=PATH pairs, and near misses of words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/settings.hpp"

namespace farport::config {

/// "10.0.0.2:9000", "orders.example:9000", "[fd00::2]:9000". The port is 0 to 65535 and must be there.
[[nodiscard]] Result<Address> parse_address(std::string_view text);
/// The reverse.
[[nodiscard]] std::string to_string(const Address& address);

/// The same, where ":9100" and "9100" are that port of 127.0.0.1.
/// An agent, and one of its runtimes where that is named.
struct Target {
  std::string agent;
  std::string runtime;
};
/// "AGENT/RUNTIME", where an agent that is reached by a command has slashes of its own: its runtime stands
/// behind a double one.
[[nodiscard]] Target split_target(const std::string& text);

[[nodiscard]] Result<Address> parse_admin_address(std::string_view text);

/// Whether the text names an agent that is reached by a command: ssh://…, docker://…, podman://… or k8s://….
[[nodiscard]] bool is_reach(std::string_view text);

/// "500ms", "5s", "2m", "1h": a whole number above zero with its unit.
[[nodiscard]] Result<Milliseconds> parse_duration(std::string_view text);
/// The reverse, with the largest unit that leaves a whole number.
[[nodiscard]] std::string to_string(Milliseconds duration);

/// The same, or as other tools have it: "30" of seconds, "00:00:30" of hours, minutes and seconds, with days
/// before them
/// ("1:00:00:00").
[[nodiscard]] Result<Milliseconds> parse_time_span(std::string_view text);

/// "/diag/farport.sock", made absolute: a relative path is taken from the working directory.
[[nodiscard]] Result<std::string> parse_path(std::string_view text);

/// "orders=/run/orders.sock". A relative path is taken from the working directory.
[[nodiscard]] Result<NamedSocket> parse_named_socket(std::string_view text);

/// The same with the name left out, "/tmp/trace.sock": the name is empty then.
[[nodiscard]] Result<NamedSocket> parse_tool_socket(std::string_view text);

/// "64GiB", "500MiB", "20KiB", "1000": bytes, above zero.
[[nodiscard]] Result<std::uint64_t> parse_bytes(std::string_view text);
/// The reverse, with the largest unit that leaves a whole number.
[[nodiscard]] std::string bytes_to_string(std::uint64_t bytes);

/// "alice=operator": what comes before the last "=" and the role after it; without one, the role is empty.
struct WithRole {
  std::string value;
  std::string role;
};
[[nodiscard]] WithRole split_role(std::string_view text);

enum class GrantKind { cn, dns, uri, ip, local };
/// A grant for all runtimes from "NAME" or "NAME=ROLE".
[[nodiscard]] auth::Grant short_grant(GrantKind kind, const std::string& text);
/// A grant for every certificate of the CA. An empty role is the default one.
[[nodiscard]] auth::Grant allow_all(const std::string& role);

/// Where the audit goes: "stderr", "syslog", "off", or a path, which is made absolute.
[[nodiscard]] Result<std::string> parse_audit(std::string_view text);

/// One of a few words.
struct Choice {
  std::string what;  ///< What is done by it, for an error.
  std::vector<std::string> words;
};
[[nodiscard]] Result<std::string> parse_choice(const Choice& choice, std::string_view text);

/// The word that `wrong` was probably meant to be: within two edits of it, within one where it is
/// short; empty where none is.
[[nodiscard]] std::string nearest(std::string_view wrong, const std::vector<std::string>& words);

/// $TMPDIR, else /tmp: where runtimes put their sockets and stock tools look for them.
[[nodiscard]] std::string temporary_directory();

}  // namespace farport::config
