// Makes lines of events, as they come or at their end.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "nettrace/handler.hpp"

namespace farport::events {

class LineMaker : public nettrace::Handler {
 public:
  /// Those that have been made since the last call, each with its newline, in the order of time.
  [[nodiscard]] virtual std::string take_lines() { return {}; }
  /// Whether it has all that it is for: the recording may be stopped then.
  [[nodiscard]] virtual bool has_enough() const { return false; }
  /// What is said once nothing more comes. Errors: that is not enough for it.
  [[nodiscard]] virtual Result<std::string> take_end() { return std::string(); }
  /// What is to be said beside them, since the last call: for people.
  [[nodiscard]] virtual std::vector<std::string> take_notices() { return {}; }
};

}  // namespace farport::events
