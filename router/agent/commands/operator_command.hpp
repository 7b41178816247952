// OperatorCommand: a command of the operator's, and what it is told.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace farport::router {

/// A command, as configured.
struct OperatorCommand {
  /// The path of the program, and its arguments, as command_arguments() fills them in.
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  ///< "NAME=VALUE".
  /// Run in the command's process before the program: gives up all rights that it must not have.
  std::function<Result<void>()> give_up;
};

/// What a command is told, by name.
using CommandVariables = std::vector<std::pair<std::string, std::string>>;

/// A value of a variable as commands get it. Runtimes choose some of them, so each letter that could mean
/// something to a shell, in a path or at the beginning of an option becomes "_", and so does
/// nothing at all. Cut to 200 letters.
[[nodiscard]] std::string command_value(std::string_view text);

/// The command's arguments, each with the value of a variable in place of its name in braces, such as
/// "{file}". Errors: there is no such variable.
[[nodiscard]] Result<std::vector<std::string>> command_arguments(const std::vector<std::string>& arguments,
                                                                 const CommandVariables& variables);

}  // namespace farport::router
