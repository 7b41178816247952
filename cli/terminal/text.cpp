#include "cli/terminal/text.hpp"

#include <algorithm>
#include <clocale>
#include <cwchar>

#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace farport::cli {
namespace {

/// wcwidth(3) knows of ASCII alone until a locale says that characters are Unicode's. While it lives this
/// thread has one that does; the program itself has none, so that numbers are written as they are everywhere.
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

/// How much of the beginning of `text` fits into `width` columns.
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
    // A space right behind what fits is a good place, too.
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

}  // namespace farport::cli
