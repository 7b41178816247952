// A plain text table: columns as wide as their content, two spaces apart.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/core.h>

#include "base/escape.hpp"

namespace farport::cli {

// Text on a terminal: how wide it is, cut off and wrapped to fit, printed so that nothing in it acts.

/// How many columns a terminal takes to show `text`, which has no control characters: East Asian wide
/// characters take two, combining ones none.
[[nodiscard]] std::size_t columns_of(std::string_view text);
/// `text`, or as much of its beginning as fits `width` columns with an ellipsis. 0 leaves it whole.
[[nodiscard]] std::string cut(std::string_view text, std::size_t width);
/// `text` in lines of at most `width` columns, broken at spaces where there are any. The second line and
/// those after it begin with `indent` spaces. 0 leaves it whole.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width, std::size_t indent = 0);

/// A terminal's size in characters.
struct TerminalSize {
  std::size_t columns = 0;
  std::size_t rows = 0;
};
/// The size of the terminal on `fd`; zeros where that is no terminal. One that doesn't know its size counts
/// as 80x24.
[[nodiscard]] TerminalSize terminal_size(int fd);

/// What is put into a message: text is escaped, all else stays as it is.
template <typename T>
decltype(auto) harmless(const T& value) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return escape(value);
  } else {
    return value;
  }
}

/// Prints for a person: the format is ours, and what is put into it is escaped.
template <typename... Args>
void print(std::FILE* to, std::string_view format, const Args&... args) {
  fmt::print(to, fmt::runtime(format), harmless(args)...);
}

/// The same for a message on standard error, which begins with the program's name: wrapped where that is a
/// terminal.
void print_message(const std::string& text);
/// Several, one after the other.
void print_messages(const std::vector<std::string>& texts);

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
