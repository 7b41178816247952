#include "config/rules.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <set>
#include <span>
#include <sstream>

#include "base/text.hpp"
#include "config/values.hpp"

namespace farport::config {
namespace {

constexpr std::array<std::string_view, 4> kDumpTypes{"mini", "heap", "triage", "full"};
constexpr std::array<std::string_view, 1> kModuleTypes{"all"};
/// What lasts.
constexpr std::array<std::string_view, 6> kLasting{"trace", "recent",     "counters",
                                                   "logs",  "exceptions", "profile"};

bool is_one_of(std::span<const std::string_view> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

/// As the API allows it.
Milliseconds longest_of(std::string_view kind) {
  constexpr Milliseconds kHour{60 * 60'000};
  constexpr int kDay = 24;
  if (kind == "profile") return kHour;
  return kind == "recent" ? kDay * kHour : 7 * kDay * kHour;
}

/// What may be said of each kind, beside a duration or a type.
struct KnownOptions {
  std::string_view kind;
  std::vector<std::string_view> names;
};
const std::vector<std::string_view>& options_of(std::string_view kind) {
  static const std::vector<KnownOptions> all{{"trace", {"profile", "providers", "rundown"}},
                                             {"counters", {"counters", "interval"}},
                                             {"logs", {"level", "category"}}};
  static const std::vector<std::string_view> none;
  const auto known = std::ranges::find(all, kind, &KnownOptions::kind);
  return known == all.end() ? none : known->names;
}

/// The types of which one may be said.
std::span<const std::string_view> types_of(std::string_view kind) {
  if (kind == "dump") return kDumpTypes;
  if (kind == "modules") return kModuleTypes;
  return {};
}

/// A word of an action after its kind: a duration, a type, or NAME=VALUE.
Result<void> take_word(RuleAction& action, const std::string& word, const std::string& what) {
  const std::size_t equals = word.find('=');
  if (equals != std::string::npos && !options_of(action.kind).empty()) {
    RETURN_IF_ERROR(check_word(what, word.substr(0, equals), options_of(action.kind)));
    action.options.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    return {};
  }
  const auto types = types_of(action.kind);
  if (!types.empty() && action.type.empty()) {
    action.type = word;
    return check_word(what, word, types);
  }
  if (!is_one_of(kLasting, action.kind) || action.duration.count() > 0)
    return fail("use", what, action.kind + " takes nothing more");
  ASSIGN_OR_RETURN(action.duration, parse_duration(word));
  const Milliseconds most = longest_of(action.kind);
  if (action.duration > most) return fail("use", what, "it takes " + to_string(most) + " at most");
  return {};
}

}  // namespace

Result<RuleAction> parse_rule_action(std::string_view text) {
  const std::string what = "do = \"" + std::string(text) + "\"";
  std::istringstream words{std::string(text)};
  RuleAction action;
  words >> action.kind;
  std::vector<std::string_view> taken(kArtifactKinds.begin() + 1,
                                      kArtifactKinds.end());  // a crash is not taken
  taken.push_back(kRunAction);
  RETURN_IF_ERROR(check_word(what, action.kind, taken));
  for (std::string word; words >> word;) RETURN_IF_ERROR(take_word(action, word, what));
  return action;
}

Result<std::pair<int, int>> parse_hours(std::string_view text) {
  std::array<int, 4> numbers{};
  const std::string pattern = "00:00-00:00";
  bool fits = text.size() == pattern.size();
  for (std::size_t at = 0; fits && at < text.size(); ++at) {
    const bool is_digit = text[at] >= '0' && text[at] <= '9';
    fits = pattern[at] == '0' ? is_digit : text[at] == pattern[at];
    constexpr std::size_t kEach = 3;
    constexpr int kTen = 10;
    if (fits && is_digit) numbers.at(at / kEach) = numbers.at(at / kEach) * kTen + (text[at] - '0');
  }
  constexpr int kMinutes = 60;
  constexpr int kDay = 24 * kMinutes;
  const int from = numbers[0] * kMinutes + numbers[1];
  const int to = numbers[2] * kMinutes + numbers[3];
  if (!fits || numbers[1] >= kMinutes || numbers[3] >= kMinutes || from >= kDay || to > kDay || from == to)
    return fail("use the hours", text, "they are no two times of the day", "write \"08:00-18:00\"");
  return std::pair(from, to);
}

Result<std::pair<int, int>> parse_status(std::string_view text) {
  constexpr int kHighest = 999;
  constexpr int kLowest = 100;
  const std::size_t dash = std::min(text.find('-'), text.size());
  const auto from = number_in<int>(text.substr(0, dash));
  const auto to = dash == text.size() ? from : number_in<int>(text.substr(dash + 1));
  const bool fits = from && to && *from >= kLowest && *from <= *to && *to <= kHighest;
  if (!fits)
    return fail("use the status", text, "it is no code of an answer", "write \"404\" or \"500-599\"");
  return std::pair(*from, *to);
}

namespace {

tl::unexpected<Error> wrong_rule(const RuleSettings& rule, std::string_view why, std::string_view hint = {}) {
  return fail("use the rule", rule.name, why, hint);
}

Result<void> check_counter_rule(const RuleSettings& rule) {
  RETURN_IF_ERROR(parse_counter(rule.counter));
  if ((rule.above && !std::isfinite(*rule.above)) || (rule.below && !std::isfinite(*rule.below)))
    return wrong_rule(rule, "a bound is a number");
  if (!rule.above && !rule.below)
    return wrong_rule(rule, "a counter is compared with a bound", "write when.above or when.below");
  if (rule.above && rule.below && *rule.above >= *rule.below)
    return wrong_rule(rule, "no value is above when.above and below when.below");
  constexpr std::array kPercentiles{50.0, 95.0, 99.0};
  if (rule.percentile && std::ranges::find(kPercentiles, *rule.percentile) == kPercentiles.end())
    return wrong_rule(rule, "runtimes tell the percentiles 50, 95 and 99 alone");
  std::set<std::string> names;
  for (const std::string& tag : rule.tags) {
    const std::size_t equals = tag.find('=');
    if (equals == std::string::npos || equals == 0)
      return wrong_rule(rule, "\"" + tag + "\" is no tag", "write \"NAME=VALUE\"");
    if (!names.insert(tag.substr(0, equals)).second)
      return wrong_rule(rule, "a tag has one value, and " + tag.substr(0, equals) + " has two");
  }
  return {};
}

Result<void> check_request_rule(const RuleSettings& rule) {
  const bool has_request = !rule.except.empty() || !rule.statuses.empty() || rule.slower.count() > 0;
  if (has_request && rule.requests.empty())
    return wrong_rule(rule, "except, status and slower are of when.request",
                      "write when.request = [\"**/*\"]");
  constexpr std::size_t kLongestPath = 256;
  for (const auto* const paths : {&rule.requests, &rule.except}) {
    for (const std::string& path : *paths) {
      const bool is_path = !path.empty() && (path.front() == '/' || path.front() == '*');
      if (!is_path || path.size() > kLongestPath)
        return wrong_rule(rule, "\"" + path + "\" is no path", "write one such as \"/api/**/*\"");
    }
  }
  for (const std::string& status : rule.statuses) RETURN_IF_ERROR(parse_status(status));
  return {};
}

Result<void> check_condition(const RuleSettings& rule) {
  const std::array conditions{rule.start,
                              rule.crash,
                              rule.hang,
                              rule.memory.has_value(),
                              !rule.counter.empty(),
                              !rule.logs.empty(),
                              !rule.exceptions.empty(),
                              !rule.requests.empty()};
  if (std::ranges::count(conditions, true) != 1)
    return wrong_rule(
        rule, "it does not say what to wait for, or says two things",
        "write one of when.counter, when.log, when.exception, when.request, when.memory, when.hang, "
        "when.crash and when.start");
  const bool has_value = rule.above || rule.below || rule.percentile || !rule.tags.empty();
  if (has_value && rule.counter.empty())
    return wrong_rule(rule, "above, below, percentile and tags are of when.counter");
  if (rule.lasts.count() > 0 && rule.counter.empty() && !rule.memory && !rule.hang)
    return wrong_rule(rule, "when.for is of when.counter, when.memory and when.hang",
                      "see when.times and when.within");
  constexpr double kWhole = 100;
  if (rule.memory && (*rule.memory <= 0 || *rule.memory >= kWhole))
    return wrong_rule(rule, "when.memory is a number of percent, above 0 and below 100");
  const RuleSettings usual;
  const bool has_message = !rule.logs.empty() || !rule.exceptions.empty();
  if (!rule.text.empty() && !has_message)
    return wrong_rule(rule, "when.text is of when.log and when.exception");
  if (rule.level != usual.level && rule.logs.empty()) return wrong_rule(rule, "when.level is of when.log");
  const bool are_several = rule.count != usual.count || rule.span != usual.span;
  if (are_several && !has_message && rule.requests.empty())
    return wrong_rule(rule, "when.times and when.within are of when.log, when.exception and when.request");
  RETURN_IF_ERROR(check_request_rule(rule));
  for (const std::string& category : rule.logs) {
    if (category.empty() || category.find_first_of("\";=:") != std::string::npos)
      return wrong_rule(rule, "\"" + category + "\" is no category", "write one such as \"Orders.*\"");
  }
  if (!rule.counter.empty()) return check_counter_rule(rule);
  return {};
}

}  // namespace

Result<void> check_rule(const RuleSettings& rule) {
  if (!is_simple_name(rule.name))
    return wrong_rule(rule, "it has no name of letters, digits, \"-\" and \"_\"", "write name = \"heap\"");
  RETURN_IF_ERROR(check_condition(rule));
  if (rule.actions.empty()) return wrong_rule(rule, "it takes nothing", "write do = [\"gcdump\"]");
  bool runs = false;
  bool takes = false;
  for (const std::string& text : rule.actions) {
    ASSIGN_OR_RETURN(const auto action, parse_rule_action(text));
    (action.kind == kRunAction ? runs : takes) = true;
  }
  if (rule.crash && takes)
    return wrong_rule(rule, "nothing can be taken of an application that has ended",
                      "write do = [\"run\"]; what the recorder has is kept anyway");
  if (runs && rule.run.command.empty())
    return wrong_rule(rule, "it has no command to run", "write run.command = [\"/usr/local/bin/notify\"]");
  if (!runs && !rule.run.command.empty())
    return wrong_rule(rule, "it never runs its command", "add \"run\" to what it does");
  if (runs)
    RETURN_IF_ERROR(check_command("the command of the rule " + rule.name, rule.run.command, kRuleVariables));
  // PID_MAX_LIMIT of 64-bit kernels.
  constexpr double kLargestPid = 1 << 22;
  const bool is_pid =
      !rule.pid || (*rule.pid >= 1 && *rule.pid <= kLargestPid && *rule.pid == std::floor(*rule.pid));
  if (!is_pid) return wrong_rule(rule, "runtimes.pid is no pid");
  if (!rule.hours.empty()) {
    RETURN_IF_ERROR(parse_hours(rule.hours));
  }
  constexpr std::chrono::hours kLongestWindow{366 * 24};
  if (rule.within > kLongestWindow) return wrong_rule(rule, "limit.within is a year at most");
  return {};
}

}  // namespace farport::config
