// From what a person writes to what it reaches.
#pragma once

#include <memory>
#include <string>

#include "router/reach/deploy.hpp"
#include "router/reach/reach.hpp"

namespace farport::router {

/// "ssh://…", "podman://…", "docker://…" or "k8s://…" (ssh.hpp, container.hpp, kubernetes_target.hpp).
/// Errors: it has another form.
[[nodiscard]] Result<std::shared_ptr<const ReachTarget>> reach_of(const std::string& text, Deploy deploy);

/// By a command that `exec` of /bin/sh takes (ssh_config(5), ProxyCommand), and that runs `farport stdio` in
/// the end.
[[nodiscard]] std::shared_ptr<const ReachTarget> reach_by_shell(const std::string& command);

}  // namespace farport::router
