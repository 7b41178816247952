// JSON between the two hosts. The other one may be hostile, or of another version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/json.hpp"

namespace farport::router {

using nlohmann::json;

/// Writes a value on one line. Text that isn't UTF-8 is replaced and not refused, since it comes from
/// processes.
[[nodiscard]] inline std::string text_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// How much of the other side's text is shown in an error. It may be as long as an answer.
inline constexpr std::size_t kShownReason = 200;

/// Why something can't be read, for a message. nlohmann's texts quote the whole input.
[[nodiscard]] inline std::string reason_of(const std::exception& error) {
  return std::string(error.what()).substr(0, kShownReason);
}

/// Parses an array of at most `most` values. Throws if it is something else: nlohmann would iterate over a
/// single object's members.
[[nodiscard]] inline json array_in(std::string_view text, std::size_t most) {
  json array = parse_bounded(text, most);
  if (!array.is_array()) throw std::invalid_argument("it is no list");
  return array;
}

/// A member that is a whole number. Throws if it is anything else, or too large for `Number`: nlohmann would
/// convert it silently.
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
