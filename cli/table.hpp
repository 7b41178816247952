// A plain text table: columns as wide as their content, two spaces apart.
#pragma once

#include <string>
#include <vector>

namespace farport::cli {

using TableRow = std::vector<std::string>;

/// Lays out `rows` (the first one is the heading). Lines longer than `width` columns are cut off with an
/// ellipsis; 0 leaves them whole. Control characters, which a runtime's command line may hold, are shown as
/// question marks, so that nobody's terminal obeys them.
[[nodiscard]] std::string format_table(const std::vector<TableRow>& rows, std::size_t width);

/// The width of the terminal on `fd` in columns; 0 where it is none.
[[nodiscard]] std::size_t terminal_width(int fd);

}  // namespace farport::cli
