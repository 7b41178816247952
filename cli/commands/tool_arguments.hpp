// A stock tool's arguments, as `farport run` rewrites them: where they name a remote runtime, they get what
// the private mirror offers for it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace farport::cli {

/// What an argument of the tool names.
struct ToolTarget {
  enum class Kind { diagnostic_port, process_id, name };
  Kind kind = Kind::process_id;
  std::size_t argument = 0;  ///< Where the value stands in the arguments.
  std::string prefix;        ///< What stands before the value in the same argument ("--name=").
  std::string value;
};

/// The runtimes that `arguments` name: --diagnostic-port and --dport, -p and --process-id, -n and --name,
/// with the value as the next argument, or behind "=" or ":" as System.CommandLine takes it.
[[nodiscard]] std::vector<ToolTarget> find_targets(const std::vector<std::string>& arguments);

/// A --diagnostic-port value that stands for a remote runtime: AGENT[/RUNTIME][,connect|listen].
struct RemotePort {
  std::string agent;    ///< HOST:PORT.
  std::string runtime;  ///< An id, a pid or a name; empty: the only one, or where the tool listens, the next.
  bool listen = false;  ///< The tool is to listen, and the runtime to dial it.
};

/// Reads such a value. Nothing: it is an ordinary socket path, and stays as it is. Errors: it names an agent,
/// but asks for what can't be done.
[[nodiscard]] Result<std::optional<RemotePort>> parse_remote_port(std::string_view value);

}  // namespace farport::cli
