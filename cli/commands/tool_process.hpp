// A tool as a child process that has the terminal and its signals to itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/child_process.hpp"

namespace farport::cli {

/// Starts `arguments[0]`, looked for in PATH and then in ~/.dotnet/tools, with our own standard streams and
/// environment, but for TMPDIR, which becomes `tmpdir`. Errors: it can't be found or started (`cause` is the
/// errno value).
Result<std::unique_ptr<transport::ChildProcess>> start_tool(transport::Loop& loop,
                                                            std::vector<std::string> arguments,
                                                            const std::string& tmpdir);

}  // namespace farport::cli
