// Where what a command brings home goes.
#pragma once

#include <string>
#include <string_view>

#include "base/output_file.hpp"

namespace farport::cli {

/// An absolute path: `given`, or where that is empty a file of dotnet-dump's kind of name in the working
/// directory, "orders_20260101_120000.dmp", with the runtime's name before the time and the extension behind
/// it.
[[nodiscard]] std::string output_path(const std::string& given, const std::string& runtime,
                                      std::string_view extension);

/// Prints the path of a result to standard output. Errors: the system's, but not that nobody reads it
/// (EPIPE).
[[nodiscard]] Result<void> print_path(const std::string& path);

/// Keeps the file, which is whole now, and prints its path. Nullptr: there is none, and nothing is done.
/// Errors: the system's; there is no file then.
[[nodiscard]] Result<void> keep_output(OutputFile* file);

}  // namespace farport::cli
