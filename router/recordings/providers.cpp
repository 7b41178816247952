#include "router/recordings/providers.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "events/providers.hpp"
#include "router/recordings/recordings.hpp"

namespace farport::router {
namespace {

/// The names of the values of EventLevel, by number.
constexpr std::array<std::string_view, 6> kLevels{"logalways", "critical",      "error",
                                                  "warning",   "informational", "verbose"};
/// The profiles that dotnet-trace records by default.
constexpr std::array<std::string_view, 2> kDefaultProfiles{"dotnet-common", "dotnet-sampled-thread-time"};

ipc::Provider provider(std::string name, std::uint64_t keywords, std::uint32_t level) {
  ipc::Provider made;
  made.name = std::move(name);
  made.keywords = keywords;
  made.level = level;
  return made;
}

std::optional<std::uint64_t> keywords_in(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  return number_in<std::uint64_t>(text, 16);
}

std::optional<std::uint32_t> level_in(std::string_view text) {
  const auto* const known = std::find_if(kLevels.begin(), kLevels.end(), [&](std::string_view level) {
    return equal_without_case(level, text);
  });
  if (known != kLevels.end()) return static_cast<std::uint32_t>(known - kLevels.begin());
  const auto level = number_in<std::uint32_t>(text);
  return level && *level < kLevels.size() ? level : std::nullopt;
}

/// What DiagnosticSourceEventSource turns into events: the beginning and the end of commands, of EF Core and
/// of SqlClient under both its names. "-" limits an event to the named properties.
std::string database_specs() {
  constexpr std::string_view kOfCommand =
      ":-Command.CommandText;Command.Connection.DataSource;Command.Connection.Database";
  std::string specs;
  const auto add = [&](std::string_view listener, std::string_view event, std::string_view activity,
                       std::string_view begin, std::string_view end) {
    for (const bool begins : {true, false}) {
      specs +=
          fmt::format("{}{}/{}{}@{}{}{}", specs.empty() ? "" : "\n", listener, event, begins ? begin : end,
                      activity, begins ? "Start" : "Stop", begins ? kOfCommand : ":-");
    }
  };
  for (const std::string_view client : {"System", "Microsoft"})
    add("SqlClientDiagnosticListener", fmt::format("{}.Data.SqlClient.WriteCommand", client), "Activity1",
        "Before", "After");
  add("Microsoft.EntityFrameworkCore", "Microsoft.EntityFrameworkCore.Database.Command.Command", "Activity2",
      "Executing", "Executed");
  return "FilterAndPayloadSpecs=\"" + specs + "\"";
}

ipc::Provider database_provider() {
  constexpr std::uint64_t kMessagesAndEvents = 0x3;
  ipc::Provider made =
      provider("Microsoft-Diagnostics-DiagnosticSource", kMessagesAndEvents, events::kVerboseLevel);
  made.filter = database_specs();
  return made;
}

const TraceProfile* profile_named(std::string_view name) {
  const std::vector<TraceProfile>& all = trace_profiles();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const TraceProfile& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::string names_of_profiles() {
  std::string names;
  for (const TraceProfile& each : trace_profiles())
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  return names;
}

/// The parts of all these lists, split at commas. Arguments may contain commas between double quotes.
std::vector<std::string> parts_of(const std::vector<std::string>& lists) {
  std::vector<std::string> parts;
  for (const std::string& list : lists) {
    const auto between_quotes = [quoted = false](char c) mutable {
      if (c == '"') quoted = !quoted;
      return quoted;
    };
    for (std::string& part : split_list(list, between_quotes)) {
      if (!part.empty()) parts.push_back(std::move(part));
    }
  }
  return parts;
}

void add_missing(std::vector<ipc::Provider>& all, const std::vector<ipc::Provider>& more) {
  for (const ipc::Provider& each : more) {
    const bool known = std::any_of(all.begin(), all.end(),
                                   [&](const ipc::Provider& other) { return other.name == each.name; });
    if (!known) all.push_back(each);
  }
}

}  // namespace

Result<ipc::Provider> parse_provider(std::string_view text) {
  const auto wrong = [&](std::string why) {
    return fail("record the provider", text, std::move(why),
                "write NAME:KEYWORDS:LEVEL, such as Orders:0x1:4");
  };
  std::string_view rest = text;
  ipc::Provider made = provider(std::string(take_until(rest, ':')), 0, events::kInformationalLevel);
  if (made.name.empty()) return wrong("it has no name");
  const std::string_view keywords = take_until(rest, ':');
  const std::string_view level = take_until(rest, ':');
  if (!keywords.empty()) {
    const auto value = keywords_in(keywords);
    if (!value) return wrong("its keywords are no hexadecimal number");
    made.keywords = *value;
  }
  if (!level.empty()) {
    const auto value = level_in(level);
    if (!value)
      return wrong("its level is neither 0 to 5 nor critical, error, warning, informational or verbose");
    made.level = *value;
  }
  if (!rest.empty()) made.filter = std::string(rest);
  return made;
}

const std::vector<TraceProfile>& trace_profiles() {
  static const std::vector<TraceProfile> profiles{
      {"dotnet-common",
       "what the runtime does, at little cost: GC, loading, JIT, exceptions, threading",
       {provider(events::kRuntimeProvider, 0x100003801D, events::kInformationalLevel)}},
      {"dotnet-sampled-thread-time",
       "the stacks of .NET's threads, some 100 times a second",
       {provider(events::kSampleProvider, 0xF00000000000, events::kInformationalLevel)}},
      {"gc-verbose",
       "collections, and samples of what is allocated",
       {provider(events::kRuntimeProvider, 0x8003, events::kVerboseLevel)}},
      {"gc-collect",
       "collections alone, at very little cost",
       {provider(events::kRuntimeProvider, 0x1, events::kInformationalLevel),
        provider("Microsoft-Windows-DotNETRuntimePrivate", 0x1, events::kInformationalLevel)},
       0x1},
      {"database",
       "commands of EF Core and SqlClient, with their texts",
       // The ids of activities flow into tasks, so they say which request a command was for.
       {provider("System.Threading.Tasks.TplEventSource", 0x80, events::kInformationalLevel),
        database_provider()}},
  };
  return profiles;
}

Result<ipc::CollectTracing> recording_of(const std::vector<std::string>& profiles,
                                         const std::vector<std::string>& providers,
                                         std::optional<bool> rundown, std::uint32_t buffer_mb) {
  ipc::CollectTracing wanted;
  wanted.buffer_size_mb = buffer_mb;
  for (const std::string& text : parts_of(providers)) {
    ASSIGN_OR_RETURN(auto parsed, parse_provider(text));
    wanted.providers.push_back(std::move(parsed));
  }
  std::vector<std::string> names = parts_of(profiles);
  if (names.empty() && wanted.providers.empty())
    names.assign(kDefaultProfiles.begin(), kDefaultProfiles.end());
  std::optional<std::uint64_t> keyword;
  for (const std::string& name : names) {
    const TraceProfile* const profile = profile_named(name);
    if (profile == nullptr) {
      return fail("record the profile", name, "there is no such name", "there are " + names_of_profiles());
    }
    add_missing(wanted.providers, profile->providers);
    if (profile->rundown) keyword = keyword.value_or(0) | *profile->rundown;
  }
  wanted.rundown = rundown.value_or(true);
  if (!keyword || rundown) return wanted;
  // Up to .NET 8 there is no such keyword. Then ask for no rundown, since the profile is to avoid a full one.
  wanted.rundown = false;
  wanted.version = ipc::kCollectTracing4;
  wanted.rundown_keyword = *keyword;
  return wanted;
}

}  // namespace farport::router
