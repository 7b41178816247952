// How many fields one definition may have, and how deeply nested.
#pragma once

#include "nettrace/cursor.hpp"
#include "nettrace/limits.hpp"

namespace farport::nettrace {

class FieldLimit {
 public:
  /// Whether there may be one more, so deep. Makes `in` fail otherwise.
  [[nodiscard]] bool admits(Cursor& in, int depth) {
    if (depth > kMostFieldDepth) in.reject("the fields of an event are nested too deeply");
    if (++fields_ > kMostFields) in.reject("an event has too many fields");
    return !in.failed();
  }

 private:
  std::size_t fields_ = 0;
};

}  // namespace farport::nettrace
