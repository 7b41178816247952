// A plain text table: columns as wide as their content, two spaces apart.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/text.hpp"

namespace farport::cli {

using TableRow = std::vector<std::string>;

/// A column, and what becomes of it where the terminal is too narrow for the table.
struct Column {
  std::string heading;
  int weight = 0;         ///< Columns are left out until the others fit: those of the least weight first.
  std::size_t least = 0;  ///< It may be cut down to this width; 0: it is shown whole, or left out.
};

/// The lines of a table, the heading first, none longer than `width` columns; with a width of 0 it is whole.
/// What the cells hold is escaped.
[[nodiscard]] std::vector<std::string> table_lines(const std::vector<Column>& columns,
                                                   const std::vector<TableRow>& rows, std::size_t width);

/// Lays out `rows` (the first one is the heading). What has no room in the last column goes on below, as far
/// as `width` columns reach; other lines that are longer are cut off with an ellipsis. 0 leaves them whole.
/// What the cells hold is escaped.
[[nodiscard]] std::string format_table(const std::vector<TableRow>& rows, std::size_t width);

/// Lines as one text, each with its newline.
[[nodiscard]] std::string join_lines(const std::vector<std::string>& lines);

}  // namespace farport::cli
