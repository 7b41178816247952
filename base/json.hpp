// JSON that others have written: the other host, which may be hostile, or the author of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

namespace farport {

/// What // and /* are in it.
enum class JsonComments : std::uint8_t { refused, skipped };

/// Parses `text`. A value takes some hundred bytes of memory, and may take only two characters of text.
/// Throws a std::exception if the text is no JSON, has more than `most` values, or is nested deeper than 16.
[[nodiscard]] nlohmann::json parse_bounded(std::string_view text, std::size_t most,
                                           JsonComments comments = JsonComments::refused);

}  // namespace farport
