// Parsing the text by which a person names a target.
#pragma once

#include <memory>
#include <string>

#include "router/reach/deploy.hpp"
#include "router/reach/reach.hpp"

namespace farport::router {

/// Parses "ssh://…", "podman://…", "docker://…" or "k8s://…" (ssh.hpp, container.hpp, pods.hpp). Fails on any
/// other form.
[[nodiscard]] Result<std::shared_ptr<const ReachTarget>> reach_of(const std::string& text, Deploy deploy);

/// A target that is reached by a shell command. /bin/sh runs it with `exec` (ssh_config(5), ProxyCommand),
/// and it must end up running `farport stdio`.
[[nodiscard]] std::shared_ptr<const ReachTarget> reach_by_shell(const std::string& command);

}  // namespace farport::router
