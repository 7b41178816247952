// The sockets of processes, through their roots. Blocks for as long as those processes' file systems like.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "router/agent/runtimes/port_processes.hpp"
#include "router/agent/runtimes/socket_scan.hpp"

namespace farport::router {

struct ProcessSockets {
  std::map<std::string, FoundSocket> sockets;  ///< By path.
  std::vector<DiscoveryProblem> problems;
};

/// Opens the socket of each process. One that is the same file as in `known` is taken from there.
[[nodiscard]] ProcessSockets open_sockets_of(const std::vector<PortProcess>& processes,
                                             const std::map<std::string, FoundSocket>& known);

}  // namespace farport::router
