#include "cli/terminal/table.hpp"

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cwchar>
#include <numeric>

#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/options/commands.hpp"

namespace farport::cli {
namespace {

/// Sets a Unicode locale for this thread while it exists, since wcwidth(3) otherwise knows ASCII only. The
/// program itself has none, so that numbers are formatted the same everywhere.
class UnicodeLocale {
 public:
  UnicodeLocale() : own_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (own_ != nullptr) before_ = ::uselocale(own_);
  }
  UnicodeLocale(const UnicodeLocale&) = delete;
  UnicodeLocale& operator=(const UnicodeLocale&) = delete;
  ~UnicodeLocale() {
    if (own_ == nullptr) return;
    ::uselocale(before_);
    ::freelocale(own_);
  }

 private:
  locale_t own_;
  locale_t before_ = nullptr;
};

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// How much of a text's start fits into a width.
struct Fitting {
  std::size_t bytes = 0;
  std::size_t columns = 0;
};

Fitting fit(std::string_view text, std::size_t width) {
  if (is_ascii(text)) return {std::min(text.size(), width), std::min(text.size(), width)};
  const UnicodeLocale unicode;
  Fitting fitting;
  while (fitting.bytes < text.size()) {
    const std::string_view rest = text.substr(fitting.bytes);
    const std::size_t length = utf8_length(rest);
    const int known = length == 0 ? 1 : ::wcwidth(static_cast<wchar_t>(utf8_character(rest, length)));
    const std::size_t columns = known < 0 ? 1 : static_cast<std::size_t>(known);
    if (fitting.columns + columns > width) break;
    fitting.columns += columns;
    fitting.bytes += std::max<std::size_t>(length, 1);
  }
  return fitting;
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  return fit(text, std::string_view::npos).columns;
}

std::string cut(std::string_view text, std::size_t width) {
  if (width == 0 || columns_of(text) <= width) return std::string(text);
  return std::string(text.substr(0, fit(text, width - 1).bytes)) + "…";
}

std::vector<std::string> wrap(std::string_view text, std::size_t width, std::size_t indent) {
  std::vector<std::string> lines;
  std::string margin;
  while (width > 0 && columns_of(text) + margin.size() > width) {
    const std::size_t room = width > margin.size() ? width - margin.size() : 1;
    const std::size_t bytes = std::max<std::size_t>(fit(text, room).bytes, 1);
    // Break at a space directly after the fitting part, too.
    const std::size_t first = text.find_first_not_of(' ');
    const std::size_t space = text.rfind(' ', bytes);
    const std::size_t end = space == std::string_view::npos || space <= first ? bytes : space;
    lines.push_back(margin + std::string(text.substr(0, end)));
    text.remove_prefix(end);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (indent < width / 2) margin.assign(indent, ' ');
  }
  if (!text.empty() || lines.empty()) lines.push_back(margin + std::string(text));
  return lines;
}

std::string grouped(std::string digits) {
  constexpr std::size_t kGroup = 3;
  const std::size_t sign = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = digits.size(); at > sign + kGroup;) {
    at -= kGroup;
    digits.insert(at, ",");
  }
  return digits;
}

void print_message(const std::string& text) {
  constexpr std::size_t kHangingIndent = 2;
  for (const std::string& line :
       wrap("farport: " + escape(text), terminal_size(STDERR_FILENO).columns, kHangingIndent))
    std::fputs((line + "\n").c_str(), stderr);
}

void print_messages(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) print_message(text);
}

TerminalSize terminal_size(int fd) {
  constexpr TerminalSize kUsual{80, 24};
  if (::isatty(fd) == 0) return {};
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) return kUsual;
  return {size.ws_col == 0 ? kUsual.columns : size.ws_col, size.ws_row == 0 ? kUsual.rows : size.ws_row};
}

int report(const Error& error) {
  if (error.cause == EINTR) return report(error, kInterrupted);
  return report(error, error.cause == Cause::silence() ? kNoAnswer : kFailure);
}

int report(const Error& error, int exit_code) {
  print_message(error.message());
  return exit_code;
}

int report_output(const Error& error) {
  const bool wrong_name = error.cause == Cause() || error.cause == EEXIST;
  return report(error, wrong_name ? kUsage : kFailure);
}

int report(const std::vector<std::string>& problems) {
  print_messages(problems);
  return kUsage;
}

namespace {

constexpr std::size_t kGap = 2;

using Widths = std::vector<std::size_t>;

/// The escaped cells of all rows, with the same number of cells in each row.
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

/// The minimum width of each column.
Widths least_widths(const std::vector<Column>& columns, const Widths& natural) {
  Widths least = natural;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].least == 0) continue;
    least[i] = std::min(natural[i], std::max(columns[i].least, columns_of(columns[i].heading)));
  }
  return least;
}

/// Distributes remaining width to the columns that need it, in order of weight.
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

/// With less room there would be about one word a line.
constexpr std::size_t kMinRoom = 24;
constexpr std::size_t kBelow = 4;

/// A row whose last cell is wrapped beside the others, or below them if there is no room.
std::string wrapped_row(const TableRow& row, const std::vector<std::size_t>& all, const Widths& widths,
                        std::size_t width) {
  const std::vector<std::size_t> others(all.begin(), all.end() - 1);
  const std::size_t before = width_of(others, widths) + kGap;
  const bool beside = before + kMinRoom <= width;
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
