#include "profile/json.hpp"

#include <nlohmann/json.hpp>

#include "base/escape.hpp"

namespace farport::profile {

std::string json_string(std::string_view text) {
  const std::string quoted = nlohmann::json(escape(text)).dump();
  std::string safe;
  safe.reserve(quoted.size());
  for (const char each : quoted) {
    if (each == '<') {
      safe += "\\u003c";
    } else {
      safe += each;
    }
  }
  return safe;
}

}  // namespace farport::profile
