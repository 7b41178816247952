#include "cli/output/counter_screen.hpp"

#include <algorithm>
#include <csignal>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/terminal/text.hpp"

namespace farport::cli {
namespace {

/// A hostile application may name as many as it likes; people look at fewer.
constexpr std::size_t kMostRows = 2000;

}  // namespace

CounterScreen::CounterScreen(double interval) : interval_(interval), region_(STDOUT_FILENO) {}

CounterScreen::~CounterScreen() {
  region_.forget();
}

void CounterScreen::take(const events::Measurement& measurement) {
  for (CounterRow& row : rows_of(measurement)) {
    const auto provider = providers_.find(measurement.provider);
    const bool known = provider != providers_.end() && provider->second.contains(row.instrument) &&
                       provider->second[row.instrument].contains(row.tags);
    if (!known && ++rows_ > kMostRows) continue;
    providers_[measurement.provider][row.instrument].insert_or_assign(row.tags, std::move(row));
  }
}

void CounterScreen::take_key(char key) {
  const std::size_t page = std::max<std::size_t>(page_, 1);
  const auto up = [this](std::size_t lines) { first_ -= std::min(first_, lines); };
  switch (key) {
    case 'q':
      // As Ctrl-C does.
      ::raise(SIGINT);
      return;
    case 'k':
      up(1);
      break;
    case 'j':
      ++first_;
      break;
    case 'b':
      up(page);
      break;
    case ' ':
      first_ += page;
      break;
    default:
      return;
  }
  draw();
}

void CounterScreen::draw() {
  if (!region_.in_foreground()) return;
  const TerminalSize room = region_.room();
  std::vector<std::string> all;
  for (const auto& [provider, table] : providers_) {
    all.push_back(cut(escape(provider), room.columns));
    for (std::string& line : lines_of(table, room.columns)) all.push_back(std::move(line));
  }
  std::vector<std::string> lines{counter_heading(interval_, room.columns)};
  if (all.size() + 1 <= room.rows) {
    first_ = 0;
    page_ = all.size();
    lines.insert(lines.end(), all.begin(), all.end());
  } else {
    // The heading above, and the place below.
    page_ = room.rows > 2 ? room.rows - 2 : 1;
    first_ = std::min(first_, all.size() - page_);
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first_);
    lines.insert(lines.end(), begin, begin + static_cast<std::ptrdiff_t>(page_));
    lines.push_back(cut(fmt::format("lines {} to {} of {}: arrows and Page Down show the others, q ends",
                                    first_ + 1, first_ + page_, all.size()),
                        room.columns));
  }
  region_.draw(lines);
}

}  // namespace farport::cli
