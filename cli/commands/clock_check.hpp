// Whether a clock is wrong: what looks like expired certificates is one of two clocks then.
#pragma once

#include <ctime>
#include <optional>

#include "auth/openssl.hpp"
#include "base/finding.hpp"

namespace farport::cli {

/// What is known of both sides' time.
struct ClockSigns {
  std::time_t now = 0;                     ///< By this host's clock.
  std::optional<auth::Validity> own{};     ///< When our certificate is valid.
  std::optional<auth::Validity> agents{};  ///< The same of the agent's, which may be anybody's words.
  bool called_expired = false;             ///< The agent says that ours has expired.
  std::optional<std::time_t> agent_now{};  ///< By the agent's clock.
};

/// Further apart than this, clocks are wrong, in seconds.
inline constexpr std::time_t kMostApart = 300;

/// What is wrong with a clock, with the times that show it; `who`: the agent. Nothing where the clocks agree
/// as far as is known.
[[nodiscard]] std::optional<Finding> check_clocks(const ClockSigns& signs, const std::string& who);

}  // namespace farport::cli
