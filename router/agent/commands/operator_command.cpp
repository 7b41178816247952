#include "router/agent/commands/operator_command.hpp"

#include <algorithm>
#include <cstddef>

#include "base/text.hpp"

namespace farport::router {
namespace {

constexpr std::size_t kMaxValue = 200;

bool is_plain_letter(char letter) {
  constexpr std::string_view kPlain = "-_.:+=@";
  return is_letter_or_digit(letter) || kPlain.find(letter) != std::string_view::npos;
}

}  // namespace

std::string command_value(std::string_view text) {
  std::string value(text.substr(0, kMaxValue));
  for (std::size_t at = 0; at < value.size(); ++at) {
    if (at == 0 ? !is_letter_or_digit(value[at]) : !is_plain_letter(value[at])) value[at] = '_';
  }
  return value.empty() ? "_" : value;
}

Result<std::vector<std::string>> command_arguments(const std::vector<std::string>& arguments,
                                                   const CommandVariables& variables) {
  std::vector<std::string> all;
  for (const std::string& argument : arguments) {
    std::string& filled = all.emplace_back();
    for (std::size_t at = 0; at < argument.size();) {
      const std::size_t end = argument[at] == '{' ? argument.find('}', at) : std::string::npos;
      if (end == std::string::npos) {
        filled += argument[at++];
        continue;
      }
      const std::string name = argument.substr(at + 1, end - at - 1);
      const auto known = std::ranges::find(variables, name, &CommandVariables::value_type::first);
      if (known == variables.end()) {
        std::string names;
        for (const auto& each : variables) names += (names.empty() ? "{" : ", {") + each.first + "}";
        return fail("use the command's argument", argument, "there is no {" + name + "}",
                    "there are " + names);
      }
      filled += known->second;
      at = end + 1;
    }
  }
  return all;
}

}  // namespace farport::router
