// Counters on a terminal, in a table that is drawn anew.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/output/counter_table.hpp"
#include "cli/terminal/live_region.hpp"

namespace farport::cli {

class CounterScreen {
 public:
  /// Made before signals are watched (LiveRegion). Standard output is a terminal that can be drawn on.
  /// `interval`: in seconds.
  explicit CounterScreen(double interval);
  ~CounterScreen();
  CounterScreen(const CounterScreen&) = delete;
  CounterScreen& operator=(const CounterScreen&) = delete;

  /// Takes a value. Does not draw it.
  void take(const events::Measurement& measurement);
  void draw();
  /// Scrolls: a key as TerminalKeys has it.
  void take_key(char key);

 private:
  double interval_;
  std::map<std::string, CounterTable> providers_;
  std::size_t rows_ = 0;   ///< In all tables.
  std::size_t first_ = 0;  ///< Of the lines, the first that is shown.
  std::size_t page_ = 1;   ///< So many are shown.
  LiveRegion region_;
};

}  // namespace farport::cli
