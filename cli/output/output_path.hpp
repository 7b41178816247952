// Naming and keeping the files that commands write.
#pragma once

#include <string>
#include <string_view>

#include "base/output_file.hpp"

namespace farport::cli {

/// An absolute path: `given`, or if it is empty a file in the working directory named like dotnet-dump's,
/// "orders_20260101_120000.dmp", from the runtime's name, the time and the extension.
[[nodiscard]] std::string output_path(const std::string& given, const std::string& runtime,
                                      std::string_view extension);

/// Prints a result's path to standard output. Fails with the system's error, except that EPIPE, when nobody
/// reads it, is success.
[[nodiscard]] Result<void> print_path(const std::string& path);

/// Keeps the complete file and prints its path. Does nothing for nullptr. On failure there is no file.
[[nodiscard]] Result<void> keep_output(OutputFile* file);

}  // namespace farport::cli
