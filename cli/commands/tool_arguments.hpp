// Finding the arguments of a stock tool that name remote runtimes, which `farport run` replaces.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace farport::cli {

/// An argument of the tool that names a runtime.
struct ToolTarget {
  enum class Kind { diagnostic_port, process_id, name };
  Kind kind = Kind::process_id;
  std::size_t argument = 0;  ///< Index of the argument with the value.
  std::string prefix;        ///< The text before the value in that argument ("--name=").
  std::string value;
};

/// The runtimes named in `arguments` by --diagnostic-port and --dport, -p and --process-id, -n and --name.
/// The value is the next argument, or follows "=" or ":" as in System.CommandLine.
[[nodiscard]] std::vector<ToolTarget> find_targets(const std::vector<std::string>& arguments);

/// A --diagnostic-port value for a remote runtime: AGENT[/RUNTIME][,connect|listen].
struct RemotePort {
  std::string agent;    ///< HOST:PORT.
  std::string runtime;  ///< An id, a pid or a name; empty: the only one, or with `listen` the next one.
  bool listen = false;  ///< The tool listens, and the runtime dials it.
};

/// Parses such a value. Empty for an ordinary socket path, which is not replaced. Fails if it names an agent
/// but asks for something impossible.
[[nodiscard]] Result<std::optional<RemotePort>> parse_remote_port(std::string_view value);

}  // namespace farport::cli
