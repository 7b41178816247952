// Reading JSON that others have written: what a reader takes up is bounded by what it expects.
#pragma once

#include <cstddef>
#include <string_view>

#include <nlohmann/json.hpp>

namespace farport::router {

/// Parses `text`. A value takes some hundred bytes of memory, and two characters of text. Throws a
/// std::exception where this is no JSON, has more than `most` values, or is nested deeper than the API's
/// answers are.
[[nodiscard]] nlohmann::json parse_bounded(std::string_view text, std::size_t most);

}  // namespace farport::router
