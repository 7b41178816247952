// Starting the helper processes that take profiles, read recordings and run commands.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "cli/setup/confine.hpp"
#include "config/settings.hpp"
#include "router/agent/commands/command_process.hpp"
#include "router/agent/egress/store_sender.hpp"
#include "router/agent/sampler/sampler_process.hpp"
#include "router/readers/reader_process.hpp"

namespace farport::cli {

/// Starts the sampler as the current user, before the process has keys or threads, and confines it by the
/// settings. If that fails, logs it and returns null; no profiles can be taken then.
[[nodiscard]] std::shared_ptr<const router::SamplerProcess> start_sampler(
    const config::ServeSettings& settings, const Log& log);

/// The same for the process that starts readers of recordings.
[[nodiscard]] std::shared_ptr<const router::ReaderProcess> start_readers(
    const config::ServeSettings& settings, const Log& log);

/// What the agent sends to.
[[nodiscard]] std::vector<router::StoreSettings> stores_of(const config::ServeSettings& settings);
/// The numbers of the rules' commands, by the rules' names.
[[nodiscard]] std::map<std::string, std::size_t> rule_commands_of(const config::ServeSettings& settings);
/// Whose commands they are.
[[nodiscard]] CommandOwner owner_of(const config::EgressSettings& store);
[[nodiscard]] CommandOwner owner_of(const config::RuleSettings& rule);
/// The commands of the stores and the rules, by the numbers in stores_of() and rule_commands_of(). Errors: a
/// program is missing, or it can't be run as the user that it should be run as.
[[nodiscard]] Result<std::vector<router::OperatorCommand>> commands_of(const config::ServeSettings& settings);
/// Starts the process that runs them, before this one has become another user or has keys or threads. Null
/// if there are none. Errors as for commands_of(), or the process can't be started.
[[nodiscard]] Result<std::shared_ptr<const router::CommandProcess>> start_commands(
    const config::ServeSettings& settings);

/// As start_readers() above for a command, whose readers parse what a runtime sends, which may be anything.
/// Call it before a loop is made. Each reader runs `work`, with the data it refers to in its current state.
/// Fails if no process can be started.
[[nodiscard]] Result<router::ReaderProcess> start_readers(const config::RemoteSettings& remote,
                                                          router::ReaderWork work);

}  // namespace farport::cli
