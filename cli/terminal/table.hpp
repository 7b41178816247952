// Text tables and text layout for terminals.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/core.h>

#include "base/escape.hpp"

namespace farport::cli {

/// Columns that a terminal uses for `text`, which must have no control characters: two for East Asian wide
/// characters, none for combining ones.
[[nodiscard]] std::size_t columns_of(std::string_view text);
/// `text` shortened to `width` columns with an ellipsis; 0: not shortened.
[[nodiscard]] std::string cut(std::string_view text, std::size_t width);
/// `text` in lines of at most `width` columns, broken at spaces if possible. Lines after the first start with
/// `indent` spaces. 0: not broken.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width, std::size_t indent = 0);

/// A whole number with commas between its thousands: "5,552,557" for "5552557".
[[nodiscard]] std::string grouped(std::string digits);

/// A terminal's size in characters.
struct TerminalSize {
  std::size_t columns = 0;
  std::size_t rows = 0;
};
/// The size of the terminal on `fd`; zeros if it is no terminal. An unknown size counts as 80x24.
[[nodiscard]] TerminalSize terminal_size(int fd);

/// An argument for a message: text is escaped, other values are not changed.
template <typename T>
decltype(auto) harmless(const T& value) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return escape(value);
  } else {
    return value;
  }
}

/// Prints for people. `format` must be trusted; arguments are escaped.
template <typename... Args>
void print(std::FILE* to, std::string_view format, const Args&... args) {
  fmt::print(to, fmt::runtime(format), harmless(args)...);
}

/// Prints a message on standard error after the program's name, wrapped on a terminal.
void print_message(const std::string& text);
/// Prints several messages.
void print_messages(const std::vector<std::string>& texts);

using TableRow = std::vector<std::string>;

/// A column, and what to do if the terminal is too narrow.
struct Column {
  std::string heading;
  int weight = 0;         ///< Columns of low weight are left out first.
  std::size_t least = 0;  ///< Minimum width; 0: never shortened, only left out.
};

/// A table's lines, the heading first, each at most `width` columns wide; 0: no limit. Cells are escaped.
[[nodiscard]] std::vector<std::string> table_lines(const std::vector<Column>& columns,
                                                   const std::vector<TableRow>& rows, std::size_t width);

/// Lays out `rows`, the first of which is the heading. The last column is wrapped to `width`; other lines
/// that are too long are cut with an ellipsis. 0: no limit. Cells are escaped.
[[nodiscard]] std::string format_table(const std::vector<TableRow>& rows, std::size_t width);

/// Joins the lines, each with a newline.
[[nodiscard]] std::string join_lines(const std::vector<std::string>& lines);

}  // namespace farport::cli
