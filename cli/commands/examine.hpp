// Examining the way to runtimes step by step, for `farport doctor` and for remotes in `farport check`.
#pragma once

#include <string>
#include <vector>

#include "config/settings.hpp"
#include "router/wire/diagnosis.hpp"
#include "transport/task.hpp"

namespace farport::cli {

/// The diagnoses for one agent or the way to it.
struct Examined {
  std::string agent;  ///< Its address, or the user's name for it until that is known.
  std::vector<router::Diagnosis> diagnoses;
};

/// How far an examination goes.
enum class Depth : std::uint8_t {
  access,    ///< As far as our identity at the agent and what it has searched.
  runtimes,  ///< As far as each runtime.
};

/// Resolves, dials, does the handshake with and asks every agent behind the remote, each address and route
/// separately. An agent behind two of them is asked once. Steps that can't be tried are reported as skipped.
[[nodiscard]] std::vector<Examined> examine_remote(const config::RemoteSettings& remote, Depth depth);

/// Searches for runtimes on this host as the agent would, and examines each.
[[nodiscard]] std::vector<router::Diagnosis> examine_here(const config::ServeSettings& settings);

}  // namespace farport::cli
