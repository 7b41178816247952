// Which events a person wants, in the words of dotnet-trace.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "ipc/event_pipe.hpp"

namespace farport::router {

/// "NAME[:KEYWORDS[:LEVEL[:ARGUMENTS]]]" as dotnet-trace's --providers has it: keywords in hexadecimal, none
/// of them where they are left out; a level as a number from 0 to 5 or a word, informational where it is left
/// out; arguments for the provider, up to the end. Errors name the part that is wrong.
[[nodiscard]] Result<ipc::Provider> parse_provider(std::string_view text);

/// A set of providers under a name of dotnet-trace's.
struct TraceProfile {
  std::string_view name;
  std::string_view about;
  std::vector<ipc::Provider> providers;
  /// What the runtime tells at the end, so that addresses have names, by keyword; nothing: all methods.
  std::optional<std::uint64_t> rundown{};
};
[[nodiscard]] const std::vector<TraceProfile>& trace_profiles();

/// What is recorded for these profiles and providers, which win over the profiles' ones of the same name; for
/// none of either what dotnet-trace records then. Each may be a list with commas between. `rundown`: nothing:
/// as the profiles have it. Errors: a name or a provider that is none.
[[nodiscard]] Result<ipc::CollectTracing> recording_of(const std::vector<std::string>& profiles,
                                                       const std::vector<std::string>& providers,
                                                       std::optional<bool> rundown, std::uint32_t buffer_mb);

}  // namespace farport::router
