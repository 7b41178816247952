// CommandSettings: a command of the operator's, and what it may do.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace farport::config {

using Milliseconds = std::chrono::milliseconds;

struct CommandSettings {
  std::vector<std::string> command;      ///< Program and arguments. Not by a shell.
  std::string user;                      ///< NAME or NAME:GROUP whom it runs as; empty: the agent's.
  std::vector<std::string> environment;  ///< Variables that it gets, by name or "PREFIX*".
  std::vector<std::string> reads;        ///< Files and directories that it may read.
  std::vector<std::string> writes;       ///< The same for writing.
  Milliseconds timeout{10 * 60'000};     ///< How long it may take nothing before it is ended.
};

}  // namespace farport::config
