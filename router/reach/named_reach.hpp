// Parsing the text by which a person names a target.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "router/reach/deploy.hpp"
#include "router/reach/reach.hpp"

namespace farport::router {

/// Parses "ssh://…", "podman://…", "docker://…" or "k8s://…" (ssh.hpp, container.hpp, pods.hpp). Fails on any
/// other form.
[[nodiscard]] Result<std::shared_ptr<const ReachTarget>> reach_of(const std::string& text, Deploy deploy);

/// A target that is reached by a shell command. /bin/sh runs it with `exec` (ssh_config(5), ProxyCommand),
/// and it must end up running `farport stdio`.
[[nodiscard]] std::shared_ptr<const ReachTarget> reach_by_shell(const std::string& command);

// Reaching hosts through the user's own ssh.

struct SshTarget {
  std::string host;  ///< As ssh takes it: HOST or USER@HOST; IPv6 without brackets.
  std::string port;  ///< Empty: ssh's own choice.
  bool operator==(const SshTarget&) const = default;
};
/// Parses "[USER@]HOST[:PORT]". Empty if it is something else, or if ssh might take it for an option or
/// several words.
[[nodiscard]] std::optional<SshTarget> parse_ssh_target(std::string_view text);

/// `target`: the text after "ssh://". Fails if it is malformed.
[[nodiscard]] Result<std::shared_ptr<const Reach>> ssh_reach(std::string text, std::string_view target,
                                                             Deploy deploy);

}  // namespace farport::router
