// The first five minutes: an agent beside an application, and one line that leads to it.
#pragma once

#include <string>

#include "config/flags.hpp"

namespace farport::cli {

/// The name in the agent's certificate, whatever address leads to it: nobody else has a certificate of its
/// CA.
inline constexpr const char* kQuickstartName = "farport-quickstart";

/// `farport quickstart [HOST] …`
struct QuickstartSettings {
  std::string host;                     ///< By which others reach this one; empty: what it finds itself.
  std::string listen = "0.0.0.0:9000";  ///< --listen
  std::string role = "operator";        ///< --role: what whoever joins may do.
};

/// Runs an agent with a CA of its own, whose key is gone before the agent begins to listen, and prints an
/// invitation for one caller. Nothing of it is kept. Returns the exit code.
int quickstart(const QuickstartSettings& settings);

/// `farport join`: takes an invitation from standard input, keeps its key in a directory of this user's own,
/// and goes on as `farport connect`. An address among the flags counts instead of the invitation's. Returns
/// the exit code.
int join(config::Flags flags);

}  // namespace farport::cli
