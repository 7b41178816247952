// What the texts in a rule mean, and whether the rule can be used.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "config/rule_settings.hpp"

namespace farport::config {

/// What a rule takes, from "gcdump", "trace 30s profile=gc-verbose" or "dump heap".
struct RuleAction {
  std::string kind;
  Milliseconds duration{0};  ///< 0 if it has none, or takes the usual one.
  std::string type;          ///< Of a dump; empty: the usual one.
  /// What else is asked for, by names that the API has, too.
  std::vector<std::pair<std::string, std::string>> options;
};
[[nodiscard]] Result<RuleAction> parse_rule_action(std::string_view text);
/// Runs the operator's command.
inline constexpr std::string_view kRunAction = "run";

/// The variables that tell that command about a firing: "{rule}" in its arguments, FARPORT_RULE in its
/// environment.
inline constexpr std::array<std::string_view, 8> kRuleVariables{"rule", "time", "host",    "pod",
                                                                "pid",  "file", "runtime", "container"};

/// Minutes of the day, from "08:00-18:00".
[[nodiscard]] Result<std::pair<int, int>> parse_hours(std::string_view text);

/// The lowest and the highest code, from "404" or "500-599".
[[nodiscard]] Result<std::pair<int, int>> parse_status(std::string_view text);

/// Fails if the rule can't be used: it says nothing to look for, or two things, or nothing to take.
[[nodiscard]] Result<void> check_rule(const RuleSettings& rule);

}  // namespace farport::config
