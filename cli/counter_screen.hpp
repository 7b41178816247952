// Counters on a terminal, in a table that is drawn anew.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cli/counter_lines.hpp"
#include "cli/live_region.hpp"

namespace farport::cli {

class CounterScreen final : public CounterReader {
 public:
  /// Made before signals are watched (LiveRegion). Standard output is a terminal that can be drawn on.
  CounterScreen(router::CounterSelection& selection, double interval);
  ~CounterScreen() override;
  CounterScreen(const CounterScreen&) = delete;
  CounterScreen& operator=(const CounterScreen&) = delete;

  /// Draws, and has no lines.
  std::string take_lines() override;

 private:
  void draw();

  /// By provider, then by name; the last row of each.
  std::map<std::string, std::map<std::string, CounterRow>> values_;
  LiveRegion region_;
};

}  // namespace farport::cli
