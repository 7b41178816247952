// The events that a person wants recorded, in the syntax of dotnet-trace.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "ipc/event_pipe.hpp"

namespace farport::router {

/// Parses "NAME[:KEYWORDS[:LEVEL[:ARGUMENTS]]]" as in dotnet-trace's --providers. Keywords are hexadecimal,
/// by default none. The level is a number from 0 to 5 or a word, by default informational. The arguments are
/// for the provider, up to the end of the text. Errors name the part that is wrong.
[[nodiscard]] Result<ipc::Provider> parse_provider(std::string_view text);

/// A named set of providers, as dotnet-trace has them.
struct TraceProfile {
  std::string_view name;
  std::string_view about;
  std::vector<ipc::Provider> providers;
  /// The keyword of the rundown, which names the addresses at the end; nothing for a rundown of all methods.
  std::optional<std::uint64_t> rundown{};
};
[[nodiscard]] const std::vector<TraceProfile>& trace_profiles();

/// What to record for these profiles and providers. Each text may be a list with commas. A provider replaces
/// one of the same name in a profile. Without any of either, it is dotnet-trace's default. `rundown`
/// overrides what the profiles say. Errors: an unknown profile or a malformed provider.
[[nodiscard]] Result<ipc::CollectTracing> recording_of(const std::vector<std::string>& profiles,
                                                       const std::vector<std::string>& providers,
                                                       std::optional<bool> rundown, std::uint32_t buffer_mb);

}  // namespace farport::router
