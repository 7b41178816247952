// Hosts, reached through the user's own ssh.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "router/reach/deploy.hpp"
#include "router/reach/reach.hpp"

namespace farport::router {

struct SshTarget {
  std::string host;  ///< As ssh takes it: HOST or USER@HOST; an IPv6 address without brackets.
  std::string port;  ///< Empty: ssh's own choice.
  bool operator==(const SshTarget&) const = default;
};
/// From "[USER@]HOST[:PORT]"; nothing where it is something else, or might be an option or more than one word
/// to ssh.
[[nodiscard]] std::optional<SshTarget> parse_ssh_target(std::string_view text);

/// `target`: what stands behind "ssh://". Errors: it is none.
[[nodiscard]] Result<std::shared_ptr<const Reach>> ssh_reach(std::string text, std::string_view target,
                                                             Deploy deploy);

}  // namespace farport::router
