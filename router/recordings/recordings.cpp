#include "router/recordings/recordings.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "events/logs.hpp"
#include "events/providers.hpp"

namespace farport::router {

int major_of(std::string_view version) {
  int major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  return major;
}

std::vector<std::string> split_list(std::string_view list, const std::function<bool(char)>& inside) {
  std::vector<std::string> parts(1);
  for (const char c : list) {
    if (!inside(c) && c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

namespace {

/// The runtime's default, which is enough if events are read at once.
constexpr std::uint32_t kBufferMb = 256;
/// The same as dotnet-gcdump's. Nobody reads while the runtime reports its heap, and what has no room is
/// lost.
constexpr std::uint32_t kHeapBufferMb = 1024;
/// From this version on, a rundown may be limited to modules.
constexpr int kFirstWithRundownKeyword = 9;
constexpr std::uint64_t kSampleKeywords = 0xF00000000000;
/// LoggingEventSource's keyword for entries with their arguments and exceptions.
constexpr std::uint64_t kJsonMessages = 0x8;
constexpr std::string_view kUsualLevel = "Information";
/// Each thread that writes takes 100 KiB of it until the next flush, and a reader may be slow for some
/// seconds.
constexpr std::uint32_t kRecentBufferMb = 64;
constexpr std::chrono::seconds kRecentCounters{1};
/// From this version on, a session may do without stacks.
constexpr int kFirstWithoutStacks = 9;
/// From this version on, events may be left out by their ids.
constexpr int kFirstWithEventFilter = 10;
/// Warnings and above. Even then each request's scope is written; level 6 switches off the two categories
/// that do so. Without the quotes the first rule alone counts.
constexpr const char* kWarnings =
    "FilterSpecs=\"*:3;Microsoft.AspNetCore.Hosting.Diagnostics:6;Microsoft.AspNetCore.Server.Kestrel:6\"";

ipc::CollectTracing wanted_of(const char* provider, std::uint64_t keywords, std::uint32_t level) {
  ipc::CollectTracing wanted;
  wanted.buffer_size_mb = kBufferMb;
  wanted.rundown = false;
  wanted.providers.emplace_back();
  wanted.providers.back().name = provider;
  wanted.providers.back().keywords = keywords;
  wanted.providers.back().level = level;
  return wanted;
}

/// Has a runtime that can do so leave out events of where exceptions have gone. Returns whether it can.
bool leave_out_passed_exceptions(ipc::CollectTracing& wanted, std::string_view version) {
  if (major_of(version) < kFirstWithEventFilter) return false;
  wanted.version = ipc::kCollectTracing5;
  wanted.providers.front().event_filter.event_ids.assign(events::kExceptionPassed.begin(),
                                                         events::kExceptionPassed.end());
  return true;
}

/// A level with the runtime's spelling.
Result<std::string> level_named(std::string_view text) {
  for (const std::string_view level : events::kLogLevels) {
    if (equal_without_case(level, text)) return std::string(level);
  }
  return fail("read logs at the level", text, "there is no such name",
              "there are Trace, Debug, Information, Warning, Error and Critical");
}

/// Checks a filter such as "Orders.*:Debug", and adds the level if there is none.
Result<std::string> filter_spec(std::string_view category, std::string_view otherwise) {
  const std::size_t colon = category.rfind(':');
  const std::string_view name = category.substr(0, colon);
  if (name.empty() || name.find_first_of("\";=") != std::string_view::npos)
    return fail("read logs of the category", category, "it is no category",
                "write one such as Orders.* or Orders.*:Debug");
  auto level = level_named(colon == std::string_view::npos ? otherwise : category.substr(colon + 1));
  if (!level) return level;
  return std::string(name) + ":" + *level;
}

}  // namespace

ipc::Provider event_counters(std::string name, std::chrono::milliseconds interval) {
  ipc::Provider provider;
  provider.name = std::move(name);
  provider.level = events::kInformationalLevel;
  provider.filter =
      fmt::format("EventCounterIntervalSec={}", std::chrono::duration<double>(interval).count());
  return provider;
}

void leave_out_stacks(ipc::CollectTracing& wanted, std::string_view version) {
  if (major_of(version) < kFirstWithoutStacks) return;
  wanted.version = ipc::kCollectTracing3;
  wanted.stackwalk = false;
}

ipc::CollectTracing wanted_exceptions() {
  return wanted_of(events::kRuntimeProvider, events::kExceptionKeyword, events::kErrorLevel);
}

void add_compiled_methods(ipc::CollectTracing& exceptions, std::string_view version) {
  // In the same entry, since a runtime takes a provider's first entry and ignores the others.
  ipc::Provider& provider = exceptions.providers.front();
  provider.keywords |= events::kCompiledMethodKeyword;
  provider.level = events::kVerboseLevel;
  leave_out_passed_exceptions(exceptions, version);
}

ipc::CollectTracing wanted_samples() {
  auto wanted = wanted_of(events::kSampleProvider, kSampleKeywords, events::kInformationalLevel);
  wanted.rundown = true;
  return wanted;
}

ipc::CollectTracing wanted_methods() {
  // A session must ask for something, and this level has none of these events.
  auto wanted = wanted_of(events::kRuntimeProvider, events::kLoaderKeyword, events::kErrorLevel);
  wanted.rundown = true;
  return wanted;
}

ipc::CollectTracing wanted_method_names(std::string_view version) {
  auto wanted = wanted_methods();
  wanted.buffer_size_mb = kRecentBufferMb;
  if (major_of(version) < kFirstWithRundownKeyword) return wanted;
  wanted.version = ipc::kCollectTracing4;
  wanted.rundown_keyword = events::kRundownMethodKeywords;
  return wanted;
}

ipc::CollectTracing wanted_recent(std::string_view version) {
  auto wanted = wanted_of(
      events::kRuntimeProvider,
      events::kGcKeyword | events::kExceptionKeyword | events::kContentionKeyword | events::kThreadingKeyword,
      events::kInformationalLevel);
  wanted.buffer_size_mb = kRecentBufferMb;
  if (leave_out_passed_exceptions(wanted, version))
    wanted.providers.front().event_filter.event_ids.push_back(events::kWorkerThreadWait);
  wanted.providers.push_back(event_counters(events::kCountersProvider, kRecentCounters));
  ipc::Provider logs;
  logs.name = events::kLoggingProvider;
  logs.keywords = kFormattedMessages;
  logs.level = events::kWarningLevel;
  logs.filter = kWarnings;
  wanted.providers.push_back(std::move(logs));
  return wanted;
}

ipc::CollectTracing wanted_loads(std::string_view version) {
  auto wanted = wanted_of(events::kRuntimeProvider, events::kMethodLoadKeywords, events::kVerboseLevel);
  wanted.buffer_size_mb = kRecentBufferMb;
  leave_out_stacks(wanted, version);
  return wanted;
}

Result<ipc::CollectTracing> wanted_heap(const Runtime& runtime) {
  constexpr int kFirstNativeWithHeap = 10;
  if (runtime.native && major_of(runtime.version) < kFirstNativeWithHeap) {
    return fail("read the heap of", runtime.name,
                "it is compiled ahead of time (NativeAOT), and reports its heap from .NET 10 on",
                "farport counters shows how large it is");
  }
  auto wanted = wanted_of(events::kRuntimeProvider, events::kHeapSnapshotKeywords, events::kVerboseLevel);
  wanted.buffer_size_mb = kHeapBufferMb;
  wanted.rundown = true;
  if (major_of(runtime.version) < kFirstWithRundownKeyword) return wanted;
  wanted.version = ipc::kCollectTracing4;
  wanted.rundown_keyword = events::kLoaderKeyword;
  return wanted;
}

namespace {

bool asks_for(const ipc::CollectTracing& session, std::uint64_t keywords) {
  return std::ranges::any_of(session.providers, [keywords](const ipc::Provider& provider) {
    return provider.name == events::kRuntimeProvider && (provider.keywords & keywords) != 0;
  });
}

}  // namespace

bool asks_for_types(const ipc::CollectTracing& session) {
  return asks_for(session, events::kTypeKeywords);
}

bool asks_for_heap(const ipc::CollectTracing& session) {
  return asks_for(session, events::kHeapCollectKeyword);
}

ipc::CollectTracing wanted_without_types() {
  constexpr std::uint32_t kLeastBufferMb = 1;
  constexpr std::uint32_t kErrors = 2;
  auto wanted = wanted_of(events::kRuntimeProvider, events::kLoaderKeyword, kErrors);
  wanted.buffer_size_mb = kLeastBufferMb;
  wanted.rundown = false;
  return wanted;
}

Result<ipc::CollectTracing> wanted_logs(std::string_view level, const std::vector<std::string>& categories) {
  const std::string_view usual = level.empty() ? kUsualLevel : level;
  std::vector<std::string> asked = categories;
  if (asked.empty() && !level.empty()) asked.emplace_back("*");
  std::string specs = asked.empty() ? "UseAppFilters" : "";
  for (const std::string& category : asked) {
    ASSIGN_OR_RETURN(const auto spec, filter_spec(category, usual));
    specs += (specs.empty() ? "" : ";") + spec;
  }
  auto wanted = wanted_of(events::kLoggingProvider, kJsonMessages, events::kVerboseLevel);
  wanted.providers.front().filter = "FilterSpecs=\"" + specs + "\"";
  return wanted;
}

}  // namespace farport::router
