// Detecting a wrong clock, which makes certificates look expired.
#pragma once

#include <ctime>
#include <optional>

#include "auth/openssl.hpp"
#include "base/finding.hpp"

namespace farport::cli {

/// What is known about both sides' clocks and certificates.
struct ClockSigns {
  std::time_t now = 0;                     ///< By this host's clock.
  std::optional<auth::Validity> own{};     ///< Validity of our certificate.
  std::optional<auth::Validity> agents{};  ///< Of the agent's, which is not verified and may be forged.
  bool called_expired = false;             ///< The agent says that ours has expired.
  std::optional<std::time_t> agent_now{};  ///< By the agent's clock.
};

/// Largest acceptable difference of the clocks, in seconds.
inline constexpr std::time_t kMostApart = 300;

/// Describes a wrong clock, with the times that show it; empty if the clocks agree as far as is known. `who`:
/// the agent.
[[nodiscard]] std::optional<Finding> check_clocks(const ClockSigns& signs, const std::string& who);

}  // namespace farport::cli
