// RuleReport: what an agent says of its rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace farport::router {

/// A rule and one runtime.
struct RuleRow {
  std::string id;  ///< The runtime's.
  std::string runtime;
  std::uint64_t pid = 0;
  std::string host;
  std::string state;  ///< "watches", "holds", "fires", "limited", "waits", "no value", "can't fire".
  std::string why;    ///< In words; may be empty.
  std::string until;  ///< When it may fire again; UTC, RFC 3339, or empty.
  std::optional<double> value;  ///< What was seen last.
  std::uint64_t fired = 0;      ///< How often within the limits' time.
  std::string last;             ///< When it fired last; empty: never within that time.
  std::string cause;            ///< What was seen then.
  std::string outcome;          ///< "under_way", "done", "failed", "broken_off".
  std::string failure;          ///< Why not all was taken, or what it lacks.
  std::vector<std::string> artifacts;
};

struct RuleReport {
  std::string name;
  std::string when;
  std::vector<std::string> actions;
  std::vector<RuleRow> runtimes;
};

[[nodiscard]] std::string to_json(const std::vector<RuleReport>& rules);
[[nodiscard]] Result<std::vector<RuleReport>> rules_from_json(std::string_view text);

}  // namespace farport::router
