// Examining the way to runtimes step by step, for `farport doctor` and for remotes in `farport check`.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "auth/openssl.hpp"
#include "base/finding.hpp"
#include "config/settings.hpp"
#include "router/agent/runtimes/discovery.hpp"
#include "router/wire/diagnosis.hpp"
#include "transport/task.hpp"

namespace farport::cli {

/// The diagnoses for one agent or the way to it.
struct Examined {
  std::string agent;  ///< Its address, or the user's name for it until that is known.
  std::vector<router::Diagnosis> diagnoses;
};

/// How far an examination goes.
enum class Depth : std::uint8_t {
  access,    ///< As far as our identity at the agent and what it has searched.
  runtimes,  ///< As far as each runtime.
};

/// Resolves, dials, does the handshake with and asks every agent behind the remote, each address and route
/// separately. An agent behind two of them is asked once. Steps that can't be tried are reported as skipped.
[[nodiscard]] std::vector<Examined> examine_remote(const config::RemoteSettings& remote, Depth depth);

/// Searches for runtimes on this host as the agent would, and examines each.
[[nodiscard]] std::vector<router::Diagnosis> examine_here(const config::ServeSettings& settings);

// Detecting a wrong clock, which makes certificates look expired.

/// What is known about both sides' clocks and certificates.
struct ClockSigns {
  std::time_t now = 0;                     ///< By this host's clock.
  std::optional<auth::Validity> own{};     ///< Validity of our certificate.
  std::optional<auth::Validity> agents{};  ///< Of the agent's, which is not verified and may be forged.
  bool called_expired = false;             ///< The agent says that ours has expired.
  std::optional<std::time_t> agent_now{};  ///< By the agent's clock.
};

/// Largest acceptable difference of the clocks, in seconds.
inline constexpr std::time_t kMaxApart = 300;

/// Describes a wrong clock, with the times that show it; empty if the clocks agree as far as is known. `who`:
/// the agent.
[[nodiscard]] std::optional<Finding> check_clocks(const ClockSigns& signs, const std::string& who);

// LocalSearch: a short search for runtimes on this host, as an agent would search.

class LocalSearch {
 public:
  explicit LocalSearch(const config::ServeSettings& settings);
  LocalSearch(const LocalSearch&) = delete;
  LocalSearch& operator=(const LocalSearch&) = delete;

  /// Searches for two seconds. The results stay valid as long as this object.
  transport::Task<void> run();

  [[nodiscard]] router::Registry& registry() { return registry_; }
  [[nodiscard]] const router::Discovery& discovery() const { return discovery_; }
  [[nodiscard]] transport::Loop& loop() { return loop_; }

 private:
  transport::Loop loop_;
  router::Registry registry_;
  router::Discovery discovery_;
};

}  // namespace farport::cli
