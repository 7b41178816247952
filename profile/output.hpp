// Output: passes a profile's text on in pieces, since a file may exceed the memory limit.
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

/// Takes the next piece. Not called again after an error.
using Sink = std::function<Result<void>(std::string_view piece)>;

/// The largest file. Formats write each sample's stack, so a crafted trace could otherwise cause any size.
inline constexpr std::uint64_t kMaxBytes = std::uint64_t{2} << 30;

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

  /// False after an error; further output is dropped then.
  [[nodiscard]] bool good() const { return state_.has_value(); }
  /// Passes on the rest. Fails with the first error.
  [[nodiscard]] Result<void> finish();

 private:
  void flush_if_large();
  void flush();

  Sink sink_;
  std::string pending_;
  std::uint64_t handed_on_ = 0;
  Result<void> state_;
};

/// `text` as a JSON string: first escaped for people (base/escape.hpp), then for JSON, without "<", which
/// could end an HTML element.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace farport::profile
