// Where the text of a profile goes, piece by piece: a trace of many samples makes files that are greater than
// the memory that may be used.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"

namespace farport::profile {

/// Takes the next piece. After an error it is given none.
using Sink = std::function<Result<void>(std::string_view piece)>;

/// No file is greater. Stacks are written out by samples, so that a trace that is made for it could ask for
/// any size.
inline constexpr std::uint64_t kMostBytes = std::uint64_t{2} << 30;

/// Collects small pieces into large ones, and remembers the first error.
class Output {
 public:
  explicit Output(Sink sink) : sink_(std::move(sink)) {}

  void put(std::string_view text) {
    pending_ += text;
    flush_if_large();
  }
  template <typename... Values>
  void print(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(pending_), format, std::forward<Values>(values)...);
    flush_if_large();
  }

  /// False after an error: whatever is put is lost then, so that there is no sense in going on.
  [[nodiscard]] bool good() const { return state_.has_value(); }
  /// Hands on the rest, and says whether all of it could be.
  [[nodiscard]] Result<void> finish();

 private:
  void flush_if_large();
  void flush();

  Sink sink_;
  std::string pending_;
  std::uint64_t handed_on_ = 0;
  Result<void> state_;
};

/// Pieces of JSON.
/// `text` escaped for people (base/escape.hpp), and then as a JSON string, in which no "<" ends an HTML
/// element.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace farport::profile
