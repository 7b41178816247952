#include "config/dotnet_monitor.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/text.hpp"
#include "config/values.hpp"

namespace farport::config {
namespace {

using nlohmann::json;

/// Of a file of 4 MiB, which is the largest that is read.
constexpr std::size_t kMostValues = 200'000;
constexpr Milliseconds kMinute{60'000};
constexpr Milliseconds kUsualDuration{30'000};
constexpr Milliseconds kYear{std::chrono::hours(365 * 24)};
constexpr const char* kRuntimeCounters = "EventCounters\\System.Runtime";

/// Thrown within this file only: why a rule can't be converted.
struct NoSuchRule {
  std::string why;
};

/// The member of that name, whose case does not count, as it does not for .NET. Null if there is none.
const json& member(const json& object, std::string_view name) {
  static const json none;
  if (!object.is_object()) return none;
  for (const auto& [key, value] : object.items()) {
    if (equal_without_case(key, name)) return value;
  }
  return none;
}

/// A value as .NET's configuration has it: all are texts. Empty if it is no value.
std::string text_in(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_primitive() && !value.is_null() ? value.dump() : std::string();
}

std::vector<std::string> texts_in(const json& list) {
  std::vector<std::string> texts;
  if (!list.is_array()) return texts;
  for (const json& each : list) texts.push_back(text_in(each));
  return texts;
}

std::optional<double> number_of(const json& settings, std::string_view name) {
  const std::string text = text_in(member(settings, name));
  if (text.empty()) return std::nullopt;
  const auto number = number_in<double>(text);
  constexpr double kMost = 1e15;
  if (!number || !(std::abs(*number) <= kMost))
    throw NoSuchRule{fmt::format("{} is no number: {}", name, text)};
  return number;
}

bool truth_of(const json& settings, std::string_view name, bool otherwise) {
  const std::string text = text_in(member(settings, name));
  return text.empty() ? otherwise : equal_without_case(text, "true");
}

/// "01:30:00", "1.00:00:00" or "00:00:00.5" (System.TimeSpan).
std::optional<Milliseconds> time_of(const json& settings, std::string_view name) {
  const std::string text = text_in(member(settings, name));
  if (text.empty()) return std::nullopt;
  std::string whole = text;
  const std::size_t colon = whole.find(':');
  const std::size_t days = whole.find('.');
  if (days != std::string::npos && days < colon) whole[days] = ':';
  const std::size_t point = std::min(whole.find('.'), whole.size());
  const auto fraction = point == whole.size() ? 0.0 : number_in<double>("0" + whole.substr(point));
  whole.resize(point);
  const bool is_zero = whole.find_first_not_of("0:") == std::string::npos;
  const auto time = is_zero ? Result<Milliseconds>(Milliseconds(0)) : parse_time_span(whole);
  if (!time || !fraction) throw NoSuchRule{fmt::format("{} is no time: {}", name, text)};
  return *time + std::chrono::round<Milliseconds>(std::chrono::duration<double>(*fraction));
}

/// A glob that matches exactly this.
std::string literal(std::string_view text) {
  std::string glob;
  for (const char each : text) {
    if (std::string_view("*?[\\").find(each) != std::string_view::npos) glob += '\\';
    glob += each;
  }
  return glob;
}

/// Splits a command line at blanks outside of quotation marks.
std::vector<std::string> arguments_in(std::string_view line) {
  std::vector<std::string> arguments;
  bool quoted = false;
  bool begun = false;
  std::string now;
  for (const char each : line) {
    if (each == '"') {
      quoted = !quoted;
      begun = true;
    } else if (each != ' ' || quoted) {
      now += each;
      begun = true;
    } else if (std::exchange(begun, false)) {
      arguments.push_back(std::exchange(now, {}));
    }
  }
  if (begun) arguments.push_back(now);
  return arguments;
}

std::string simple_name(std::string_view name) {
  std::string simple(name);
  for (char& each : simple) {
    if (!is_letter_or_digit(each) && each != '-') each = '_';
  }
  return simple.empty() ? "rule" : simple;
}

/// What other parts of the configuration say for all rules.
struct Shared {
  const json& templates;
  const json& defaults;
};

class Conversion {
 public:
  Conversion(ConvertedRule& into, const Shared& shared) : into_(into), rule_(into.rule), shared_(shared) {}

  void convert(const json& from) {
    rule_.name = simple_name(into_.from);
    if (rule_.name != into_.from) note("{} has another name here", into_.from);
    take_trigger(resolved(member(from, "Trigger"), "CollectionRuleTriggers"));
    const json& actions = member(from, "Actions");
    if (actions.is_array()) {
      for (const json& each : actions) take_action(resolved(each, "CollectionRuleActions"));
    }
    const json& filters = member(from, "Filters");
    if (filters.is_array()) {
      for (const json& each : filters) take_filter(resolved(each, "CollectionRuleFilters"));
    }
    take_limits(resolved(member(from, "Limits"), "CollectionRuleLimits"));
    if (rule_.actions.empty()) throw NoSuchRule{"nothing of what it does exists here"};
    const Result<void> usable = check_rule(rule_);
    if (!usable) throw NoSuchRule{usable.error().message()};
  }

 private:
  template <typename... Args>
  void note(fmt::format_string<Args...> form, Args&&... args) {
    into_.notes.push_back(fmt::format(form, std::forward<Args>(args)...));
  }

  /// The value, or the template that it names.
  json resolved(const json& value, std::string_view templates) const {
    if (!value.is_string()) return value;
    const json& known = member(member(shared_.templates, templates), value.get<std::string>());
    if (known.is_null()) throw NoSuchRule{"there is no template " + value.get<std::string>()};
    return known;
  }

  /// What the settings say, or else the defaults for all rules of this kind.
  const json& or_default(const json& settings, std::string_view kind, std::string_view name) const {
    const json& own = member(settings, name);
    return own.is_null() ? member(member(shared_.defaults, kind), name) : own;
  }

  Milliseconds window_of(const json& settings) const {
    const json named{{"SlidingWindowDuration", or_default(settings, "Triggers", "SlidingWindowDuration")}};
    return time_of(named, "SlidingWindowDuration").value_or(kMinute);
  }

  void take_trigger(const json& trigger) {
    const std::string type = text_in(member(trigger, "Type"));
    const json& settings = member(trigger, "Settings");
    if (equal_without_case(type, "Startup")) {
      rule_.start = true;
    } else if (equal_without_case(type, "EventCounter")) {
      rule_.counter = fmt::format("EventCounters\\{}[{}]", text_in(member(settings, "ProviderName")),
                                  text_in(member(settings, "CounterName")));
      take_bounds(settings, std::nullopt);
    } else if (equal_without_case(type, "EventMeter")) {
      rule_.counter = fmt::format("{}[{}]", text_in(member(settings, "MeterName")),
                                  text_in(member(settings, "InstrumentName")));
      rule_.percentile = number_of(settings, "HistogramPercentile");
      if (!rule_.percentile)
        note(
            "a counter counts by its growth a second, a histogram without when.percentile by its values a "
            "second");
      take_bounds(settings, std::nullopt);
    } else if (equal_without_case(type, "CPUUsage")) {
      rule_.counter = fmt::format("{}[cpu-usage]", kRuntimeCounters);
      take_bounds(settings, 50.0);
    } else if (equal_without_case(type, "GCHeapSize")) {
      rule_.counter = fmt::format("{}[gc-heap-size]", kRuntimeCounters);
      take_bounds(settings, 10.0);
    } else if (equal_without_case(type, "ThreadpoolQueueLength")) {
      rule_.counter = fmt::format("{}[threadpool-queue-length]", kRuntimeCounters);
      take_bounds(settings, 200.0);
    } else if (equal_without_case(type, "AspNetRequestCount")) {
      take_requests(settings, "RequestCount");
    } else if (equal_without_case(type, "AspNetRequestDuration")) {
      constexpr Milliseconds kSlow{5'000};
      take_requests(settings, "RequestCount");
      rule_.slower = time_of(settings, "RequestDuration").value_or(kSlow);
      if (rule_.slower.count() == 0) note("RequestDuration is 0, so that all requests count");
    } else if (equal_without_case(type, "AspNetResponseStatus")) {
      const bool has_other = member(settings, "RequestCount").is_null();
      take_requests(settings, has_other ? "ResponseCount" : "RequestCount");
      rule_.statuses = texts_in(member(settings, "StatusCodes"));
      if (rule_.statuses.empty()) throw NoSuchRule{"its trigger has no StatusCodes"};
    } else {
      throw NoSuchRule{type.empty() ? "it has no trigger" : "there is no trigger " + type};
    }
  }

  void take_bounds(const json& settings, std::optional<double> usual) {
    rule_.above = number_of(settings, "GreaterThan");
    rule_.below = number_of(settings, "LessThan");
    if (!rule_.above && !rule_.below) rule_.above = usual;
    rule_.lasts = window_of(settings);
  }

  void take_requests(const json& settings, std::string_view count) {
    const auto times = number_of({{count, or_default(settings, "Triggers", count)}}, count);
    constexpr double kMost = 1e6;
    if (!times || *times < 1 || *times > kMost) throw NoSuchRule{fmt::format("its trigger has no {}", count)};
    rule_.count = static_cast<std::uint64_t>(*times);
    rule_.span = window_of(settings);
    rule_.requests = texts_in(member(settings, "IncludePaths"));
    rule_.except = texts_in(member(settings, "ExcludePaths"));
    if (rule_.requests.empty()) rule_.requests = {"**/*"};
  }

  /// "trace 30s"
  void add_action(std::string_view kind, const json& settings, const std::string& options = {}) {
    const Milliseconds time = time_of(settings, "Duration").value_or(kUsualDuration);
    rule_.actions.push_back(fmt::format("{} {}{}", kind, to_string(time), options));
  }

  void take_action(const json& action) {
    const std::string type = text_in(member(action, "Type"));
    const json& settings = member(action, "Settings");
    if (equal_without_case(type, "CollectDump")) {
      take_dump(text_in(member(settings, "Type")));
    } else if (equal_without_case(type, "CollectGCDump")) {
      rule_.actions.emplace_back("gcdump");
    } else if (equal_without_case(type, "CollectStacks")) {
      rule_.actions.emplace_back("stacks");
    } else if (equal_without_case(type, "CollectTrace")) {
      take_trace(settings);
    } else if (equal_without_case(type, "CollectLogs")) {
      take_logs(settings);
    } else if (equal_without_case(type, "CollectLiveMetrics")) {
      take_metrics(settings);
    } else if (equal_without_case(type, "CollectExceptions")) {
      add_action("exceptions", settings);
      note(
          "CollectExceptions has what was thrown before; this records what is thrown then. With the "
          "recorder, \"recent\" has what was thrown before");
    } else if (equal_without_case(type, "Execute")) {
      take_execute(settings);
    } else {
      note("{} is left out: there is nothing like it here", type.empty() ? "an action without a type" : type);
    }
  }

  void take_dump(const std::string& type) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kTypes{
        {{"Full", "full"}, {"Mini", "mini"}, {"WithHeap", "heap"}, {"Triage", "triage"}}};
    const std::string wanted = type.empty() ? "WithHeap" : type;
    const auto* const known = std::ranges::find_if(
        kTypes, [&wanted](const auto& each) { return equal_without_case(each.first, wanted); });
    if (known == kTypes.end()) throw NoSuchRule{"there is no type of dumps " + type};
    rule_.actions.push_back(fmt::format("dump {}", known->second));
  }

  void take_trace(const json& settings) {
    std::vector<std::string> profiles;
    std::vector<std::string> providers;
    const std::string named = text_in(member(settings, "Profile"));
    for (std::string_view rest = named; !rest.empty();) {
      std::string profile(take_until(rest, ','));
      std::erase(profile, ' ');
      take_profile(profile, profiles, providers);
    }
    const json& own = member(settings, "Providers");
    if (own.is_array()) {
      for (const json& each : own) take_provider(each, providers);
    }
    // The usual trace is that of the profile Cpu.
    const bool is_usual = providers.empty() && profiles == std::vector<std::string>{kCpuProfile};
    std::string options;
    if (!profiles.empty() && !is_usual) options += fmt::format(" profile={}", fmt::join(profiles, ","));
    if (!providers.empty()) options += fmt::format(" providers={}", fmt::join(providers, ","));
    if (!providers.empty() && !truth_of(settings, "RequestRundown", true)) options += " rundown=false";
    if (!member(settings, "BufferSizeMegabytes").is_null())
      note("BufferSizeMegabytes is left out: the runtime gets a buffer of 256 MB");
    if (!member(settings, "StoppingEvent").is_null())
      note("StoppingEvent is left out: the trace ends after its time");
    add_action("trace", settings, options);
  }

  void take_profile(const std::string& name, std::vector<std::string>& profiles,
                    std::vector<std::string>& providers) {
    if (equal_without_case(name, "Cpu")) {
      profiles.emplace_back(kCpuProfile);
    } else if (equal_without_case(name, "GcCollect")) {
      profiles.emplace_back("gc-collect");
    } else if (equal_without_case(name, "Logs")) {
      providers.emplace_back("Microsoft-Extensions-Logging:4:5");
    } else if (equal_without_case(name, "Metrics")) {
      providers.emplace_back("System.Runtime:0:4:EventCounterIntervalSec=1");
      providers.emplace_back("Microsoft.AspNetCore.Hosting:0:4:EventCounterIntervalSec=1");
    } else if (equal_without_case(name, "Http")) {
      // DiagnosticSource, which dotnet-monitor takes, tells one session only, and rules may have it.
      for (const char* each :
           {"System.Net.Http", "Microsoft.AspNetCore.Hosting", "Microsoft-AspNetCore-Server-Kestrel",
            "System.Threading.Tasks.TplEventSource:80:4"})
        providers.emplace_back(each);
      note("the profile Http has the EventSources of ASP.NET and HttpClient, not their DiagnosticSource");
    } else {
      throw NoSuchRule{"there is no trace profile " + name};
    }
  }

  void take_provider(const json& provider, std::vector<std::string>& providers) {
    if (text_in(member(provider, "Name")).find_first_of(" ,") != std::string::npos)
      throw NoSuchRule{"no provider has the name " + text_in(member(provider, "Name"))};
    const std::string keywords = text_in(member(provider, "Keywords"));
    const std::string level = text_in(member(provider, "EventLevel"));
    std::string text = fmt::format("{}:{}:{}", text_in(member(provider, "Name")),
                                   keywords.empty() ? "FFFFFFFFFFFFFFFF" : keywords,
                                   level.empty() ? "Informational" : level);
    const json& arguments = member(provider, "Arguments");
    std::string all;
    if (arguments.is_object()) {
      for (const auto& [key, value] : arguments.items())
        all += fmt::format("{}{}={}", all.empty() ? "" : ";", key, text_in(value));
    }
    const bool can_say = all.find_first_of(" ,\"") == std::string::npos;
    if (!can_say) note("the arguments of {} are left out", text_in(member(provider, "Name")));
    if (!all.empty() && can_say) text += ":" + all;
    providers.push_back(std::move(text));
  }

  void take_logs(const json& settings) {
    std::string options;
    const bool by_application = truth_of(settings, "UseAppFilters", true);
    const std::string level = text_in(member(settings, "DefaultLevel"));
    if (!by_application) options += " level=" + (level.empty() ? "Warning" : level);
    const json& filters = member(settings, "FilterSpecs");
    std::vector<std::string> categories;
    if (filters.is_object()) {
      for (const auto& [category, own] : filters.items())
        if (category.find_first_of(" ,") != std::string::npos) {
          note("the category {} is left out: it has a blank or a comma", category);
        } else {
          categories.push_back(category + (text_in(own).empty() ? "" : ":" + text_in(own)));
        }
    }
    if (!categories.empty()) options += fmt::format(" category={}", fmt::join(categories, ","));
    add_action("logs", settings, options);
  }

  void take_metrics(const json& settings) {
    std::vector<std::string> counters;
    const auto add = [&counters](const json& list, std::string_view name, std::string_view names,
                                 std::string_view prefix) {
      if (!list.is_array()) return;
      for (const json& each : list) {
        const auto instruments = texts_in(member(each, names));
        counters.push_back(fmt::format("{}{}", prefix, text_in(member(each, name))));
        if (!instruments.empty()) counters.back() += fmt::format("[{}]", fmt::join(instruments, ","));
      }
    };
    add(member(settings, "Providers"), "ProviderName", "CounterNames", "EventCounters\\");
    add(member(settings, "Meters"), "MeterName", "InstrumentNames", "");
    // The examples write this otherwise than the description.
    const bool has_usual = truth_of(settings, "IncludeDefaultProviders", true) &&
                           truth_of(settings, "UseDefaultProviders", true);
    if (!counters.empty() && has_usual)
      counters.insert(counters.begin(), {"System.Runtime", "Microsoft.AspNetCore.Hosting"});
    const std::string options = counters.empty() ? "" : fmt::format(" counters={}", fmt::join(counters, ","));
    add_action("counters", settings, options);
  }

  void take_execute(const json& settings) {
    const std::string path = text_in(member(settings, "Path"));
    if (path.find('\\') != std::string::npos || path.find(':') != std::string::npos)
      return note("Execute is left out: {} is a program of Windows", path);
    if (!rule_.run.command.empty()) return note("Execute of {} is left out: a rule runs one command", path);
    rule_.run.command = {path};
    for (std::string& argument : arguments_in(text_in(member(settings, "Arguments"))))
      rule_.run.command.push_back(with_file(std::move(argument)));
    rule_.actions.emplace_back(kRunAction);
    if (truth_of(settings, "IgnoreExitCode", false)) note("IgnoreExitCode is left out: a failure is noted");
    note("an agent that is root needs run.user, and the command may read files of run.reads only");
  }

  /// With "{file}" for the path of what an earlier action has taken.
  std::string with_file(std::string argument) {
    const std::size_t begin = argument.find("$(Actions.");
    const std::size_t end = begin == std::string::npos ? begin : argument.find(')', begin);
    if (end == std::string::npos) return argument;
    const std::string output = argument.substr(begin, end - begin + 1);
    if (output.ends_with(".EgressPath)")) {
      note("{} became {{file}}, the last file's name: write the agent's directory before it", output);
      return argument.replace(begin, output.size(), "{file}");
    }
    note("{} is left out: there is no such output here", output);
    return argument.replace(begin, output.size(), "");
  }

  void take_filter(const json& filter) {
    std::string key = text_in(member(filter, "Key"));
    std::string value = text_in(member(filter, "Value"));
    for (const char* each : {"ProcessId", "ProcessName", "CommandLine", "ManagedEntryPointAssemblyName"}) {
      if (!key.empty() || member(filter, each).is_null()) continue;
      key = each;
      value = text_in(member(filter, each));
    }
    const bool contains = equal_without_case(text_in(member(filter, "MatchType")), "Contains");
    const std::string glob = contains ? "*" + literal(value) + "*" : literal(value);
    if (equal_without_case(key, "ProcessId")) {
      rule_.pid = number_in<double>(value);
      if (!rule_.pid) throw NoSuchRule{"the filter ProcessId is no number: " + value};
      note("pid {} is the process's own until it is started again; better write runtimes.name", value);
    } else if (equal_without_case(key, "ProcessName") && equal_without_case(value, "dotnet")) {
      // farport calls a process after its assembly.
      add_glob(rule_.runtimes.command_line, "*dotnet *", key);
    } else if (equal_without_case(key, "ProcessName") ||
               equal_without_case(key, "ManagedEntryPointAssemblyName")) {
      add_glob(rule_.runtimes.name, glob, key);
    } else if (equal_without_case(key, "CommandLine")) {
      add_glob(rule_.runtimes.command_line, glob, key);
    } else {
      throw NoSuchRule{"there is no filter " + key};
    }
  }

  void add_glob(std::vector<std::string>& globs, std::string glob, const std::string& key) {
    note("the case of letters counts in the filter {}", key);
    if (!globs.empty()) note("several filters {} became globs of which one must match", key);
    globs.push_back(std::move(glob));
  }

  void take_limits(const json& limits) {
    constexpr std::uint64_t kUsualCount = 5;
    constexpr std::uint64_t kApplications = 10;
    const json all{{"ActionCount", or_default(limits, "Limits", "ActionCount")},
                   {"Window", or_default(limits, "Limits", "ActionCountSlidingWindowDuration")},
                   {"RuleDuration", or_default(limits, "Limits", "RuleDuration")}};
    const auto count = number_of(all, "ActionCount");
    constexpr double kMostCount = 1e6;
    if (count && *count > kMostCount) throw NoSuchRule{"its ActionCount is too large"};
    rule_.times = count && *count >= 1 ? static_cast<std::uint64_t>(*count) : kUsualCount;
    rule_.total = kApplications * rule_.times;
    const auto window = time_of(all, "Window");
    rule_.within = window.value_or(kYear);
    if (!window)
      note(
          "ActionCount counts for a process's life there, and for a container or a name here: within a year");
    if (const auto age = time_of(all, "RuleDuration")) rule_.age = *age;
  }

  static constexpr const char* kCpuProfile = "dotnet-common,dotnet-sampled-thread-time";

  ConvertedRule& into_;
  RuleSettings& rule_;
  const Shared& shared_;
};

ConvertedRule converted(const std::string& name, const json& from, const Shared& shared) {
  ConvertedRule made;
  made.from = name;
  try {
    Conversion(made, shared).convert(from);
  } catch (const NoSuchRule& error) {
    made.why_not = error.why;
  }
  return made;
}

}  // namespace

Result<std::vector<ConvertedRule>> rules_of_dotnet_monitor(std::string_view text) {
  // Comments are allowed, as .NET does.
  json read;
  try {
    read = parse_bounded(text, kMostValues, JsonComments::skipped);
  } catch (const std::exception& error) {
    return fail("read", "the rules", error.what(), "write JSON, without a comma before } or ]");
  }
  const json& all = read;
  const Shared shared{member(all, "Templates"), member(all, "CollectionRuleDefaults")};
  const json& named = member(all, "CollectionRules");
  std::vector<ConvertedRule> rules;
  // Rules may also stand by themselves, as those in the documentation do.
  for (const json* const from : {&named, &all}) {
    if (!from->is_object()) continue;
    for (const auto& [name, rule] : from->items()) {
      if (!member(rule, "Trigger").is_null()) rules.push_back(converted(name, rule, shared));
    }
  }
  std::set<std::string> names;
  for (ConvertedRule& each : rules) {
    const std::string name = each.rule.name;
    for (int number = 2; !names.insert(each.rule.name).second; ++number)
      each.rule.name = fmt::format("{}-{}", name, number);
  }
  if (rules.empty())
    return fail("find", "rules", "there is no CollectionRules in it, nor a rule with a Trigger");
  return rules;
}

}  // namespace farport::config
