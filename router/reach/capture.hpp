// Commands that are run to their end for what they print.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "transport/loop.hpp"
#include "transport/task.hpp"

namespace farport::router {

/// Bytes for a command's standard input; null: none.
using CommandInput = std::shared_ptr<const std::vector<std::byte>>;

/// Runs a command to its end and returns its standard output. Errors: it can't be started, fails (with what
/// it has printed last), takes too long, or prints without end.
transport::Task<Result<std::string>> capture(transport::Loop& loop, std::vector<std::string> arguments,
                                             CommandInput input = nullptr);

}  // namespace farport::router
