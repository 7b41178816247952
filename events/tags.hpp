// Tags: the names and values by which the series of a counter differ.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace farport::events {

/// Names are unique.
using Tags = std::vector<std::pair<std::string, std::string>>;

/// Reads the tags of one instrument.
///
/// Runtimes write them as one text, "route=/,status=200", and escape nothing (dotnet/runtime#132262). So a
/// value with a comma may look like further tags, and who sends a request may choose such a value. A name is
/// believed after a value that looks harmless, or if it is otherwise known to be one of the instrument's. All
/// else belongs to the value before it.
class TagReader {
 public:
  /// `separator`: between a name and its value: '=' for meters, ':' for EventCounters.
  explicit TagReader(char separator) : separator_(separator) {}

  [[nodiscard]] Tags read(std::string_view text);

 private:
  /// Where the name ends; 0 if the part does not begin with one.
  [[nodiscard]] std::size_t end_of_name(std::string_view part) const;
  void count_names(std::string_view text);
  [[nodiscard]] bool is_known(const std::string& name) const;

  char separator_;
  std::set<std::size_t> series_;             ///< Hashes of the texts so far.
  std::map<std::string, std::size_t> seen_;  ///< In how many of them something looks like this name.
  std::set<std::string> believed_;           ///< Names that stood behind harmless values.
};

}  // namespace farport::events
