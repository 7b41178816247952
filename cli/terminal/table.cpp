#include "cli/terminal/table.hpp"

#include <algorithm>
#include <numeric>

namespace farport::cli {
namespace {

constexpr std::size_t kGap = 2;

using Widths = std::vector<std::size_t>;

/// The cells of all rows, escaped, and filled up to the same number for each row.
std::vector<TableRow> escaped_cells(const std::vector<TableRow>& rows, std::size_t count) {
  std::vector<TableRow> cells;
  cells.reserve(rows.size());
  for (const TableRow& row : rows) {
    TableRow& into = cells.emplace_back();
    for (const std::string& cell : row) into.push_back(escape(cell));
    into.resize(count);
  }
  return cells;
}

Widths natural_widths(const std::vector<TableRow>& cells, std::size_t count) {
  Widths widths(count, 0);
  for (const TableRow& row : cells) {
    for (std::size_t i = 0; i < count; ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  }
  return widths;
}

std::size_t width_of(const std::vector<std::size_t>& shown, const Widths& widths) {
  const std::size_t gaps = shown.empty() ? 0 : (shown.size() - 1) * kGap;
  return std::accumulate(shown.begin(), shown.end(), gaps,
                         [&](std::size_t sum, std::size_t i) { return sum + widths[i]; });
}

/// The narrowest that each column may be.
Widths least_widths(const std::vector<Column>& columns, const Widths& natural) {
  Widths least = natural;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].least == 0) continue;
    least[i] = std::min(natural[i], std::max(columns[i].least, columns_of(columns[i].heading)));
  }
  return least;
}

/// Gives the room that is left to the columns that could use it, the weightiest first.
void widen(Widths& widths, const Widths& natural, std::vector<std::size_t> shown,
           const std::vector<Column>& columns, std::size_t room) {
  std::stable_sort(shown.begin(), shown.end(),
                   [&](std::size_t a, std::size_t b) { return columns[a].weight > columns[b].weight; });
  for (const std::size_t i : shown) {
    const std::size_t more = std::min(room, natural[i] - widths[i]);
    widths[i] += more;
    room -= more;
  }
}

std::string line_of(const TableRow& row, const std::vector<std::size_t>& shown, const Widths& widths) {
  std::string line;
  for (const std::size_t i : shown) {
    const std::string cell = widths[i] == 0 ? std::string() : cut(row[i], widths[i]);
    line += cell;
    if (i != shown.back()) line.append(widths[i] - columns_of(cell) + kGap, ' ');
  }
  return line;
}

/// In less there would be a word a line.
constexpr std::size_t kLeastRoom = 24;
constexpr std::size_t kBelow = 4;

/// A row whose last cell is wrapped: beside the others, or below them where there is no room.
std::string wrapped_row(const TableRow& row, const std::vector<std::size_t>& all, const Widths& widths,
                        std::size_t width) {
  const std::vector<std::size_t> others(all.begin(), all.end() - 1);
  const std::size_t before = width_of(others, widths) + kGap;
  const bool beside = before + kLeastRoom <= width;
  const std::size_t margin = beside ? before : kBelow;
  std::string text = line_of(row, others, widths);
  if (beside) {
    text.append(before - columns_of(text), ' ');
  } else {
    text = cut(text, width) + "\n" + std::string(margin, ' ');
  }
  std::string between;
  for (const std::string& line : wrap(row.back(), std::max(width, margin + 1) - margin)) {
    text += between + line;
    between = "\n" + std::string(margin, ' ');
  }
  return text;
}

}  // namespace

std::vector<std::string> table_lines(const std::vector<Column>& columns, const std::vector<TableRow>& rows,
                                     std::size_t width) {
  TableRow heading;
  for (const Column& column : columns) heading.push_back(column.heading);
  std::vector<TableRow> cells = escaped_cells(rows, columns.size());
  cells.insert(cells.begin(), heading);
  const Widths natural = natural_widths(cells, columns.size());
  Widths widths = natural;
  std::vector<std::size_t> shown(columns.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  if (width > 0) {
    widths = least_widths(columns, natural);
    while (shown.size() > 1 && width_of(shown, widths) > width) {
      shown.erase(std::min_element(shown.begin(), shown.end(), [&](std::size_t a, std::size_t b) {
        return columns[a].weight < columns[b].weight;
      }));
    }
    const std::size_t taken = width_of(shown, widths);
    if (taken < width) widen(widths, natural, shown, columns, width - taken);
  }
  std::vector<std::string> lines;
  lines.reserve(cells.size());
  for (const TableRow& row : cells) lines.push_back(cut(line_of(row, shown, widths), width));
  return lines;
}

std::string format_table(const std::vector<TableRow>& rows, std::size_t width) {
  std::size_t count = 0;
  for (const TableRow& row : rows) count = std::max(count, row.size());
  const std::vector<TableRow> cells = escaped_cells(rows, count);
  const Widths widths = natural_widths(cells, count);
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::string text;
  for (const TableRow& row : cells) {
    const std::string line = line_of(row, all, widths);
    const bool fits = width == 0 || count < 2 || columns_of(line) <= width || row.back().empty();
    text += (fits ? cut(line, width) : wrapped_row(row, all, widths, width)) + "\n";
  }
  return text;
}

std::string join_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace farport::cli
