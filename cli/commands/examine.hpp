// Trying out each thing between here and a runtime, one after the other: what `farport doctor` says, and
// `farport check` of remotes.
#pragma once

#include <string>
#include <vector>

#include "config/settings.hpp"
#include "router/wire/diagnosis.hpp"
#include "transport/task.hpp"

namespace farport::cli {

/// What is said of one agent, or of the way to it.
struct Examined {
  std::string agent;  ///< Where it is, or what its user calls it as long as that is not known.
  std::vector<router::Diagnosis> diagnoses;
};

/// How far an examination goes.
enum class Depth : std::uint8_t {
  access,    ///< To who we are at the agent, and what it has searched.
  runtimes,  ///< To each runtime.
};

/// Resolves, dials, agrees on TLS with and asks every agent behind the remote, each address and each way for
/// itself. An agent that is behind two of them is asked once. What can't be asked any more is said to be
/// skipped.
[[nodiscard]] std::vector<Examined> examine_remote(const config::RemoteSettings& remote, Depth depth);

/// Searches for runtimes on this host as the agent would, and tries each out.
[[nodiscard]] std::vector<router::Diagnosis> examine_here(const config::ServeSettings& settings);

}  // namespace farport::cli
