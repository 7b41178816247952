#include "cli/setup/rules.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "auth/policy.hpp"
#include "config/values.hpp"

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
  router::CounterCondition condition{counter.provider, counter.name, {}, {}, true, 0};
  for (const std::string& tag : rule.tags) {
    const std::size_t equals = tag.find('=');
    condition.tags.emplace(tag.substr(0, equals), tag.substr(equals + 1));
  }
  if (rule.percentile) condition.quantile = *rule.percentile / kPercent;
  condition.above = rule.above.has_value();
  condition.bound = rule.above.value_or(rule.below.value_or(0));
  return condition;
}

router::IncidentCondition incidents_of(const config::RuleSettings& rule) {
  router::IncidentCondition condition;
  const bool are_logs = !rule.logs.empty();
  condition.pattern.of =
      are_logs ? router::IncidentPattern::Of::logs : router::IncidentPattern::Of::exceptions;
  condition.pattern.names = are_logs ? rule.logs : rule.exceptions;
  const auto* const level = std::ranges::find(events::kLogLevels, rule.level);
  condition.pattern.level = static_cast<events::LogLevel>(level - events::kLogLevels.begin());
  condition.pattern.text = rule.text;
  condition.times = rule.count;
  condition.within = rule.span;
  return condition;
}

/// "exceptions of System.Timeout* with «db»: 5 in 1m"
std::string incidents_in_words(const config::RuleSettings& rule) {
  std::string text = rule.logs.empty()
                         ? fmt::format("exception {}", fmt::join(rule.exceptions, ", "))
                         : fmt::format("log {} from {}", fmt::join(rule.logs, ", "), rule.level);
  if (!rule.text.empty()) text += fmt::format(" with \"{}\"", rule.text);
  if (rule.count > 1) text += fmt::format(", {} in {}", rule.count, config::to_string(rule.span));
  return text;
}

/// "System.Runtime[cpu-usage]{a=b} above 80 for 30s"
std::string condition_in_words(const config::RuleSettings& rule) {
  if (rule.start) return "start";
  if (rule.hang) return "hang for " + config::to_string(hang_time(rule));
  if (rule.counter.empty()) return incidents_in_words(rule);
  std::string text = rule.counter;
  if (!rule.tags.empty()) text += fmt::format("{{{}}}", fmt::join(rule.tags, ","));
  if (rule.percentile) text += fmt::format(" p{}", *rule.percentile);
  text +=
      rule.above ? fmt::format(" above {}", *rule.above) : fmt::format(" below {}", rule.below.value_or(0));
  if (rule.lasts.count() > 0) text += " for " + config::to_string(rule.lasts);
  return text;
}

/// After which it is broken off: for most a while after it should have ended.
config::Milliseconds longest_for(const config::RuleAction& action) {
  constexpr config::Milliseconds kMinute{60'000};
  constexpr config::Milliseconds kUsual{30'000};
  if (action.kind == "dump") return 30 * kMinute;
  if (action.kind == "gcdump") return 10 * kMinute;
  return (action.duration.count() > 0 ? action.duration : kUsual) + kMinute;
}

router::RuleAction action_of(const std::string& text) {
  const config::RuleAction words = config::parse_rule_action(text).value();
  router::RuleAction action{text, words.kind, "GET", {}, longest_for(words)};
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(words.duration).count();
  if (words.kind == "dump" || words.kind == "profile" || words.kind == "recent") action.method = "POST";
  if (words.kind == "gcdump") action.query = "format=gcdump";
  if (words.kind == "profile") action.query = "format=html";
  if (!words.type.empty()) action.query = "type=" + words.type;
  if (seconds > 0)
    action.query += fmt::format("{}{}={}", action.query.empty() ? "" : "&",
                                words.kind == "profile" ? "duration" : "seconds", seconds);
  return action;
}

Result<router::Rule> rule_of(const config::RuleSettings& from) {
  router::Rule rule;
  rule.name = from.name;
  rule.when = condition_in_words(from);
  rule.runtimes = from.runtimes;
  RETURN_IF_ERROR(auth::resolve_users(rule.runtimes.user, "the rule " + from.name));
  rule.lasts = from.hang ? hang_time(from) : from.lasts;
  if (!from.counter.empty()) rule.condition = counter_of(from);
  if (!from.logs.empty() || !from.exceptions.empty()) rule.condition = incidents_of(from);
  if (from.hang) rule.condition = router::HangCondition();
  for (const std::string& action : from.actions) rule.actions.push_back(action_of(action));
  rule.limits = {from.times, from.total, from.within, {}, {}};
  if (from.bytes > 0) rule.limits.bytes = from.bytes;
  if (!from.hours.empty()) rule.limits.hours = config::parse_hours(from.hours).value();
  return rule;
}

}  // namespace

Result<std::optional<router::RulesSettings>> rules_of(const config::ServeSettings& settings) {
  if (settings.rules.empty()) return std::optional<router::RulesSettings>();
  router::RulesSettings rules;
  for (const config::RuleSettings& each : settings.rules) {
    ASSIGN_OR_RETURN(auto rule, rule_of(each));
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
