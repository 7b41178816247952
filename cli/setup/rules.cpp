#include "cli/setup/rules.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "auth/policy.hpp"
#include "base/text.hpp"
#include "cli/setup/helpers.hpp"
#include "config/rules.hpp"
#include "config/values.hpp"
#include "router/agent/recordings/recording_requests.hpp"

namespace farport::cli {
namespace {

constexpr double kPercent = 100;
/// What the selection without names has.
constexpr const char* kUsualCounters = "System.Runtime,Microsoft.AspNetCore.Hosting";

config::Milliseconds hang_time(const config::RuleSettings& rule) {
  constexpr config::Milliseconds kUsualHang{30'000};
  return rule.lasts.count() > 0 ? rule.lasts : kUsualHang;
}

router::CounterCondition counter_of(const config::RuleSettings& rule) {
  const config::CounterName counter = config::parse_counter(rule.counter).value();
  router::CounterCondition condition{counter.provider, counter.name, counter.event_source, {}, {},
                                     rule.above,       rule.below};
  for (const std::string& tag : rule.tags) {
    const std::size_t equals = tag.find('=');
    condition.tags.emplace(tag.substr(0, equals), tag.substr(equals + 1));
  }
  if (rule.percentile) condition.quantile = *rule.percentile / kPercent;
  return condition;
}

router::IncidentCondition incidents_of(const config::RuleSettings& rule) {
  router::IncidentCondition condition;
  using Of = router::IncidentPattern::Of;
  const bool are_logs = !rule.logs.empty();
  const bool are_requests = !rule.requests.empty();
  condition.pattern.of = are_logs ? Of::logs : are_requests ? Of::requests : Of::exceptions;
  condition.pattern.names = are_logs ? rule.logs : are_requests ? rule.requests : rule.exceptions;
  condition.pattern.except = rule.except;
  for (const std::string& status : rule.statuses)
    condition.pattern.statuses.push_back(config::parse_status(status).value());
  if (rule.slower.count() > 0) condition.pattern.slower_than = rule.slower;
  const auto* const level = std::ranges::find(events::kLogLevels, rule.level);
  condition.pattern.level = static_cast<events::LogLevel>(level - events::kLogLevels.begin());
  condition.pattern.text = rule.text;
  condition.times = rule.count;
  condition.within = rule.span;
  return condition;
}

/// "request /api/**/* but /api/health, 500-599, slower than 3s"
std::string requests_in_words(const config::RuleSettings& rule) {
  std::string text = fmt::format("request {}", fmt::join(rule.requests, ", "));
  if (!rule.except.empty()) text += fmt::format(" but {}", fmt::join(rule.except, ", "));
  if (!rule.statuses.empty()) text += fmt::format(", {}", fmt::join(rule.statuses, ", "));
  if (rule.slower.count() > 0) text += ", slower than " + config::to_string(rule.slower);
  return text;
}

/// "exceptions of System.Timeout* with «db»: 5 in 1m"
std::string incidents_in_words(const config::RuleSettings& rule) {
  std::string text;
  if (!rule.logs.empty()) text = fmt::format("log {} from {}", fmt::join(rule.logs, ", "), rule.level);
  if (!rule.exceptions.empty()) text = fmt::format("exception {}", fmt::join(rule.exceptions, ", "));
  if (!rule.requests.empty()) text = requests_in_words(rule);
  if (!rule.text.empty()) text += fmt::format(" with \"{}\"", rule.text);
  if (rule.count > 1) text += fmt::format(", {} in {}", rule.count, config::to_string(rule.span));
  return text;
}

/// "System.Runtime[cpu-usage]{a=b} above 80 for 30s"
std::string condition_in_words(const config::RuleSettings& rule) {
  if (rule.start) return "start";
  if (rule.crash) return "crash";
  if (rule.hang) return "hang for " + config::to_string(hang_time(rule));
  const std::string lasting = rule.lasts.count() > 0 ? " for " + config::to_string(rule.lasts) : "";
  if (rule.memory) return fmt::format("memory above {} % of its limit{}", *rule.memory, lasting);
  if (rule.counter.empty()) return incidents_in_words(rule);
  std::string text = rule.counter;
  if (!rule.tags.empty()) text += fmt::format("{{{}}}", fmt::join(rule.tags, ","));
  if (rule.percentile) text += fmt::format(" p{}", *rule.percentile);
  if (rule.above) text += fmt::format(" above {}", *rule.above);
  if (rule.above && rule.below) text += " and";
  if (rule.below) text += fmt::format(" below {}", *rule.below);
  return text + lasting;
}

/// After which it is broken off: for most a while after it should have ended.
config::Milliseconds longest_for(const config::RuleAction& action) {
  constexpr config::Milliseconds kMinute{60'000};
  constexpr config::Milliseconds kUsual{30'000};
  if (action.kind == "dump") return 30 * kMinute;
  if (action.kind == "gcdump") return 10 * kMinute;
  return (action.duration.count() > 0 ? action.duration : kUsual) + kMinute;
}

/// Of a request's parameter (RFC 3986, section 2.1).
std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char each : text) {
    const bool plain =
        is_letter_or_digit(each) || std::string_view("-._~,:").find(each) != std::string_view::npos;
    encoded += plain ? std::string(1, each) : fmt::format("%{:02X}", static_cast<unsigned char>(each));
  }
  return encoded;
}

router::RuleAction action_of(const std::string& text) {
  const config::RuleAction words = config::parse_rule_action(text).value();
  router::RuleAction action{text, words.kind, "GET", {}, longest_for(words)};
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(words.duration).count();
  constexpr std::array<std::string_view, 4> kPosted{"dump", "modules", "profile", "recent"};
  if (std::ranges::find(kPosted, words.kind) != kPosted.end()) action.method = "POST";
  if (words.kind == "gcdump") action.query = "format=gcdump";
  if (words.kind == "profile") action.query = "format=html";
  if (!words.type.empty()) action.query = words.kind == "modules" ? "all=true" : "type=" + words.type;
  for (const auto& [name, value] : words.options)
    action.query += fmt::format("{}{}={}", action.query.empty() ? "" : "&", name, percent_encoded(value));
  if (seconds > 0)
    action.query += fmt::format("{}{}={}", action.query.empty() ? "" : "&",
                                words.kind == "profile" ? "duration" : "seconds", seconds);
  return action;
}

/// Fails if what an action asks for would be refused.
Result<void> check_options(const router::RuleAction& action, const std::string& text) {
  const config::RuleAction words = config::parse_rule_action(text).value();
  if (words.options.empty()) return {};
  const router::Parameters parameters = [&words](std::string_view name) {
    const auto known = std::ranges::find(words.options, name, &std::pair<std::string, std::string>::first);
    return known == words.options.end() ? std::string() : known->second;
  };
  const auto wanted = router::wanted_recording(action.kind, parameters, router::Runtime());
  if (!wanted) return fail("use", "do = \"" + text + "\"", wanted.error().message());
  return {};
}

Result<router::Rule> rule_of(const config::RuleSettings& from,
                             const std::map<std::string, std::size_t>& commands) {
  router::Rule rule;
  rule.name = from.name;
  rule.when = condition_in_words(from);
  rule.runtimes = from.runtimes;
  RETURN_IF_ERROR(auth::resolve_users(rule.runtimes.user, "the rule " + from.name));
  rule.lasts = from.hang ? hang_time(from) : from.lasts;
  if (!from.counter.empty()) rule.condition = counter_of(from);
  if (!from.logs.empty() || !from.exceptions.empty() || !from.requests.empty())
    rule.condition = incidents_of(from);
  if (from.memory) rule.condition = router::MemoryCondition{*from.memory};
  if (from.hang) rule.condition = router::HangCondition();
  if (from.crash) rule.condition = router::CrashCondition();
  for (const std::string& text : from.actions) {
    router::RuleAction& action = rule.actions.emplace_back(action_of(text));
    RETURN_IF_ERROR(check_options(action, text));
    if (action.kind != config::kRunAction) continue;
    action.command = commands.at(from.name);
    action.longest = from.run.timeout;
  }
  if (from.pid) rule.pid = static_cast<std::uint64_t>(*from.pid);
  rule.limits = {from.times, from.total, from.at_once, from.within, {}, {}, {}};
  if (from.bytes > 0) rule.limits.bytes = from.bytes;
  if (from.age.count() > 0) rule.limits.age = from.age;
  if (!from.hours.empty()) rule.limits.hours = config::parse_hours(from.hours).value();
  return rule;
}

}  // namespace

Result<void> check_actions(const config::RuleSettings& rule) {
  for (const std::string& text : rule.actions) RETURN_IF_ERROR(check_options(action_of(text), text));
  return {};
}

Result<std::optional<router::RulesSettings>> rules_of(const config::ServeSettings& settings) {
  if (settings.rules.empty()) return std::optional<router::RulesSettings>();
  router::RulesSettings rules;
  const auto commands = rule_commands_of(settings);
  for (const config::RuleSettings& each : settings.rules) {
    ASSIGN_OR_RETURN(auto rule, rule_of(each, commands));
    rules.rules.push_back(std::move(rule));
  }
  rules.interval = settings.app_metrics.interval;
  return std::optional(std::move(rules));
}

Result<std::optional<router::AppMetricsSettings>> counters_of(const config::ServeSettings& settings) {
  const bool shown = settings.app_metrics.keep;
  std::vector<std::string> names;
  if (shown) names = settings.app_metrics.counters;
  if (shown && names.empty()) names.emplace_back(kUsualCounters);
  for (const config::RuleSettings& rule : settings.rules)
    if (!rule.counter.empty()) names.push_back(rule.counter);
  if (names.empty()) return std::optional<router::AppMetricsSettings>();
  router::AppMetricsSettings counters;
  ASSIGN_OR_RETURN(counters.counters, router::CounterSelection::parse(names));
  counters.names = fmt::format("{}", fmt::join(names, ","));
  counters.limits.interval = settings.app_metrics.interval;
  if (shown) {
    ASSIGN_OR_RETURN(counters.shown, router::CounterSelection::parse(settings.app_metrics.counters));
  } else {
    ASSIGN_OR_RETURN(auto rules, rules_of(settings));
    counters.wanted = [rules = std::move(*rules)](const router::Runtime& runtime) {
      return rules.has_about<router::CounterCondition>(runtime);
    };
  }
  return std::optional(std::move(counters));
}

}  // namespace farport::cli
