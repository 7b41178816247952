#include "base/json.hpp"

#include <stdexcept>
#include <string>

namespace farport {
namespace {

using nlohmann::json;

constexpr int kDeepest = 16;

}  // namespace

json parse_bounded(std::string_view text, std::size_t most, JsonComments comments) {
  std::size_t values = 0;
  const json::parser_callback_t count = [&](int depth, json::parse_event_t event, json&) {
    using Event = json::parse_event_t;
    if (depth > kDeepest) throw std::length_error("it is nested too deep");
    const bool begins = event == Event::object_start || event == Event::array_start || event == Event::value;
    if (begins && ++values > most) {
      throw std::length_error("it has more than " + std::to_string(most) + " values");
    }
    return true;
  };
  constexpr bool kThrow = true;
  return json::parse(text, count, kThrow, comments == JsonComments::skipped);
}

}  // namespace farport
