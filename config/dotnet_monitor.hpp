// Reads the collection rules of dotnet-monitor's configuration
// (documentation/configuration/collection-rule-configuration.md there) as rules of an agent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "config/rules.hpp"

namespace farport::config {

struct ConvertedRule {
  std::string from;  ///< What dotnet-monitor calls it.
  RuleSettings rule;
  std::vector<std::string> notes;  ///< What is not the same.
  std::string why_not;             ///< Why there is no such rule; empty if there is one.
};

/// The rules in the text, which is JSON: a whole configuration, or rules by their names. Errors: it is
/// neither.
[[nodiscard]] Result<std::vector<ConvertedRule>> rules_of_dotnet_monitor(std::string_view text);

}  // namespace farport::config
