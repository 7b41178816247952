#include "cli/table.hpp"

#include <algorithm>

#include <sys/ioctl.h>
#include <unistd.h>

namespace farport::cli {
namespace {

bool starts_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

std::size_t columns(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

std::string harmless(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return text;
}

std::string cut(const std::string& line, std::size_t width) {
  if (width == 0 || columns(line) <= width) return line;
  std::size_t end = 0;
  for (std::size_t shown = 0; end < line.size(); ++end) {
    if (starts_character(line[end]) && ++shown == width) break;
  }
  return line.substr(0, end) + "…";
}

}  // namespace

std::string format_table(const std::vector<TableRow>& rows, std::size_t width) {
  std::vector<std::size_t> widths;
  std::vector<TableRow> cells = rows;
  for (TableRow& row : cells) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = harmless(row[i]);
      widths[i] = std::max(widths[i], columns(row[i]));
    }
  }
  std::string text;
  for (const TableRow& row : cells) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - columns(row[i]) + 2, ' ');
    }
    text += cut(line, width) + "\n";
  }
  return text;
}

std::size_t terminal_width(int fd) {
  winsize size{};
  if (::isatty(fd) == 0 || ::ioctl(fd, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

}  // namespace farport::cli
