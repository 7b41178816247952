#include "router/wire/session_options.hpp"

#include "base/text.hpp"

namespace farport::router {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

/// Takes the text up to the separator, without space around it, and removes both from `list`.
std::string_view take_part(std::string_view& list, char separator) {
  return trimmed(take_until(list, separator));
}

/// Whether the parameter refuses the encoding, as "q=0" or "q=0.000" do (RFC 9110 section 12.4.2).
bool is_refusal(std::string_view parameter) {
  const std::string_view name = take_part(parameter, '=');
  return equal_without_case(name, "q") && parameter.starts_with('0') &&
         parameter.find_first_not_of("0.") == std::string_view::npos;
}

}  // namespace

bool accepts_zstd(std::string_view encodings) {
  while (!encodings.empty()) {
    std::string_view parameters = take_part(encodings, ',');
    if (!equal_without_case(take_part(parameters, ';'), "zstd")) continue;
    bool refused = false;
    while (!parameters.empty()) refused = is_refusal(take_part(parameters, ';')) || refused;
    if (!refused) return true;
  }
  return false;
}

}  // namespace farport::router
