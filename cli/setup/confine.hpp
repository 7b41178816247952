// Confining `farport serve`: privileges before it opens anything, the rest once it listens.
#pragma once

#include "base/error.hpp"
#include "base/log.hpp"
#include "config/settings.hpp"
#include "confinement/confinement.hpp"

namespace farport::cli {

/// Switches to the configured user, if any, and checks that it can read the certificates now and after
/// renewals. Ports below 1024 can be bound until the agent is confined. Call it before opening anything: a
/// file that only root can open could never be opened again.
[[nodiscard]] Result<void> become_user(const config::ServeSettings& settings);

/// What an agent with these settings needs once it listens, as the current user.
[[nodiscard]] confinement::Needs needs_of(const config::ServeSettings& settings);

/// Whose a command is, for errors: "the store bucket", and what the file calls its user: "egress.user".
struct CommandOwner {
  std::string name;
  std::string user_key;
};
/// What such a command may do. Errors: there is no such user, or the agent can't become that one.
[[nodiscard]] Result<confinement::CommandRights> rights_of(const config::CommandSettings& command,
                                                           const CommandOwner& owner,
                                                           const config::ServeSettings& settings);
/// The same, for one of its commands with this program.
[[nodiscard]] confinement::CommandRights with_program(confinement::CommandRights rights,
                                                      const std::string& program);

/// Confines the process by the settings, and logs what is in force. Call it before threads are
/// started. Fails if something is missing that the settings require.
[[nodiscard]] Result<void> confine_agent(const config::ServeSettings& settings, const Log& log);

}  // namespace farport::cli
