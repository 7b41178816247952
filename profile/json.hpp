// Pieces of JSON.
#pragma once

#include <string>
#include <string_view>

namespace farport::profile {

/// `text` escaped for people (base/escape.hpp), and then as a JSON string, in which no "<" ends an HTML
/// element.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace farport::profile
