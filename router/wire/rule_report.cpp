#include "router/wire/rule_report.hpp"

#include "router/wire/json_members.hpp"
#include "router/wire/runtime_json.hpp"

namespace farport::router {
namespace {

constexpr std::size_t kMostValues = 200'000;

json object_of(const RuleRow& row) {
  json object = {{"id", row.id},
                 {"runtime", row.runtime},
                 {"pid", row.pid},
                 {"host", row.host},
                 {"state", row.state},
                 {"why", row.why},
                 {"until", row.until},
                 {"fired", row.fired},
                 {"last", row.last},
                 {"cause", row.cause},
                 {"outcome", row.outcome},
                 {"failure", row.failure},
                 {"artifacts", row.artifacts}};
  if (row.value) object["value"] = *row.value;
  return object;
}

RuleRow row_of(const json& object) {
  RuleRow row;
  row.id = text_in(object, "id");
  row.runtime = text_in(object, "runtime");
  row.pid = number_at<std::uint64_t>(object, "pid");
  row.host = text_in(object, "host");
  row.state = text_in(object, "state");
  row.why = text_in(object, "why");
  row.until = text_in(object, "until");
  if (object.contains("value") && object.at("value").is_number())
    row.value = object.at("value").get<double>();
  row.fired = number_at<std::uint64_t>(object, "fired");
  row.last = text_in(object, "last");
  row.cause = text_in(object, "cause");
  row.outcome = text_in(object, "outcome");
  row.failure = text_in(object, "failure");
  row.artifacts = object.at("artifacts").get<std::vector<std::string>>();
  return row;
}

RuleReport report_of(const json& object) {
  RuleReport rule{
      text_in(object, "name"), text_in(object, "when"), object.at("do").get<std::vector<std::string>>(), {}};
  for (const json& each : object.at("runtimes")) rule.runtimes.push_back(row_of(each));
  return rule;
}

}  // namespace

std::string to_json(const std::vector<RuleReport>& rules) {
  json all = json::array();
  for (const RuleReport& rule : rules) {
    json runtimes = json::array();
    for (const RuleRow& row : rule.runtimes) runtimes.push_back(object_of(row));
    all.push_back({{"name", rule.name}, {"when", rule.when}, {"do", rule.actions}, {"runtimes", runtimes}});
  }
  return text_of(all);
}

Result<std::vector<RuleReport>> rules_from_json(std::string_view text) {
  try {
    std::vector<RuleReport> rules;
    for (const json& each : array_in(text, kMostValues)) rules.push_back(report_of(each));
    return rules;
  } catch (const std::exception& error) {
    return fail("read", "the agent's list of rules", reason_of(error));
  }
}

}  // namespace farport::router
