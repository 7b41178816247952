// What `farport serve` gives up, and when: privileges before it opens anything, the rest once it listens.
#pragma once

#include "base/error.hpp"
#include "base/log.hpp"
#include "config/settings.hpp"
#include "confinement/confinement.hpp"

namespace farport::cli {

/// Becomes the user that the settings name, if any, and looks whether that user may read the certificates,
/// now and when they are renewed. Binding ports below 1024 stays possible until the agent is confined. Must
/// be called before anything is opened: what only root could open could never be opened again.
[[nodiscard]] Result<void> become_user(const config::ServeSettings& settings);

/// What an agent with these settings needs once it listens, as the user that the process has become.
[[nodiscard]] confinement::Needs needs_of(const config::ServeSettings& settings);

/// Confines the process as the settings say, and logs what is in force. To be called before there are
/// threads. Returns what is in force. Errors: not everything is in force, and the settings require it.
[[nodiscard]] Result<confinement::Confinement> confine_agent(const config::ServeSettings& settings,
                                                             const Log& log);

}  // namespace farport::cli
