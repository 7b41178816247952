// JSON between the two sides. What is read was written by the other one, which may be hostile or of another
// version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace farport::router {

/// Reading JSON that others have written: what a reader takes up is bounded by what it expects.
/// Parses `text`. A value takes some hundred bytes of memory, and two characters of text. Throws a
/// std::exception where this is no JSON, has more than `most` values, or is nested deeper than the API's
/// answers are.
[[nodiscard]] nlohmann::json parse_bounded(std::string_view text, std::size_t most);

using nlohmann::json;

/// A value as it is sent, on one line. Text that is no UTF-8 is replaced, not refused: it comes from
/// processes.
[[nodiscard]] inline std::string text_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// More of what the other side says than this is not worth showing: it may be as long as an answer.
inline constexpr std::size_t kShownReason = 200;

/// Why it can't be read, for a message. nlohmann's reasons quote what they don't like, whole.
[[nodiscard]] inline std::string reason_of(const std::exception& error) {
  return std::string(error.what()).substr(0, kShownReason);
}

/// Throws where `text` is no JSON array of at most so many values: a single object would be taken for a list
/// of its members.
[[nodiscard]] inline json array_in(std::string_view text, std::size_t most) {
  json array = parse_bounded(text, most);
  if (!array.is_array()) throw std::invalid_argument("it is no list");
  return array;
}

/// A member that is a whole number. Throws where it is anything else, or too large for a Number: nlohmann
/// itself would make another number of it.
template <typename Number>
[[nodiscard]] Number number_at(const json& object, const char* name) {
  const json& member = object.at(name);
  if (!member.is_number_unsigned() ||
      member.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<Number>::max()}) {
    throw std::out_of_range("\"" + std::string(name) + "\" is no whole number, or too large a one");
  }
  return member.get<Number>();
}

}  // namespace farport::router
