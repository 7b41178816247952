// Where what a command brings home goes.
#pragma once

#include <string>
#include <string_view>

namespace farport::cli {

/// An absolute path: `given`, or where that is empty a file of dotnet-dump's kind of name in the working
/// directory, "orders_20260101_120000.dmp", with the runtime's name before the time and the extension behind
/// it.
[[nodiscard]] std::string output_path(const std::string& given, const std::string& runtime,
                                      std::string_view extension);

}  // namespace farport::cli
