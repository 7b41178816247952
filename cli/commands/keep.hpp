// Having an agent take something of a runtime and keep it.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "config/settings.hpp"

namespace farport::cli {

/// What the agent is to take.
struct Wanted {
  std::string action;                             ///< The last word of the request's path: "trace".
  std::map<std::string, std::string> parameters;  ///< Of the request. Empty ones are left out.
};

/// Seconds for a parameter: "0.5".
[[nodiscard]] std::string in_seconds(std::chrono::milliseconds time);

/// Has the agent of a runtime take it, and waits until it is kept; prints its id. When it is stopped, the
/// agent goes on. Reports errors and returns the exit code.
int keep(const config::RemoteSettings& remote, const std::string& runtime,
         const config::SessionSettings& session, const Wanted& wanted);

}  // namespace farport::cli
