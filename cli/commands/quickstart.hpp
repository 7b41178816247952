// The quickstart: an agent beside an application, and an invitation that leads to it.
#pragma once

#include <string>

#include "config/flags.hpp"

namespace farport::cli {

/// The name in the agent's certificate, whatever its address: no other agent has a certificate of its CA.
inline constexpr const char* kQuickstartName = "farport-quickstart";

/// `farport quickstart [HOST] …`
struct QuickstartSettings {
  std::string host;                     ///< Address for others; empty: detected.
  std::string listen = "0.0.0.0:9000";  ///< --listen
  std::string role = "operator";        ///< --role: of the caller that joins.
};

/// Runs an agent with a CA of its own, whose key is destroyed before the agent listens, and prints an
/// invitation for one caller. Nothing is kept. Returns the exit code.
int quickstart(const QuickstartSettings& settings);

/// `farport join`: reads an invitation from standard input, stores its key in a private directory, and
/// continues as `farport connect`. An address in the flags overrides the invitation's. Returns the exit code.
int join(config::Flags flags);

}  // namespace farport::cli
