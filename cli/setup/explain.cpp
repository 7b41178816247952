#include "cli/setup/explain.hpp"

#include "router/wire/diagnosis.hpp"
#include "router/wire/http_status.hpp"
#include "transport/race.hpp"

namespace farport::cli {
namespace {

using transport::Task;
using Lines = std::vector<std::string>;

/// Time limit for all agents together.
constexpr transport::Milliseconds kPatience{5000};

constexpr const char* kQuestion = "/v1/doctor?runtimes=false";
constexpr const char* kOldAgent = "  this agent's version explains no more; see its log";

void append(Lines& all, Lines more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::string heading(const std::string& agent, Missing missing) {
  return agent + (missing == Missing::everything ? " lists no runtime that you may see:"
                                                 : " says of what it does not list:");
}

/// The lines for an agent's answer; none if there is nothing to explain.
Lines explain(const Result<std::string>& answer, const std::string& agent, const std::string& name,
              Missing missing) {
  if (!answer) {
    const bool old = answer.error().cause == Cause::http(router::http_status::kNotFound);
    return old ? Lines{heading(name, missing), kOldAgent} : Lines();
  }
  const auto told = router::doctor_answer_from_json(*answer);
  if (!told) return {told.error().message()};
  Lines wrong;
  for (const router::Diagnosis& each : told->diagnoses) {
    const bool worth = each.finding.level != Finding::Level::ok ||
                       (missing == Missing::everything && each.step == router::step::kSearch);
    if (!worth) continue;
    wrong.push_back("  " + each.finding.text + (each.finding.hint.empty() ? "" : "; " + each.finding.hint));
  }
  if (wrong.empty() && missing == Missing::something) return {};
  wrong.insert(wrong.begin(), heading(agent, missing));
  wrong.push_back("  farport doctor " + name + " tries out each thing on the way");
  return wrong;
}

}  // namespace

std::string asked_name(const router::MirroredAgent& agent) {
  return agent.remote.empty() ? agent.address.text() : agent.remote;
}

Task<Lines> explain_search(router::AgentClient& agent, std::string name, Missing missing) {
  const auto answer = co_await agent.get(kQuestion);
  co_return explain(answer, agent.address(), name, missing);
}

Task<Lines> explain_mirror(router::Mirror& mirror, Missing missing, bool of_selections) {
  std::vector<router::AgentAnswer> answers;
  // Uses the answers that came in time.
  co_await with_deadline(mirror.loop(), mirror.ask(kQuestion, answers), kPatience);
  Lines all;
  for (const router::AgentAnswer& each : answers) {
    if (!each.from.selected || of_selections)
      append(all, explain(each.body, each.from.agent, each.from.remote, missing));
  }
  co_return all;
}

}  // namespace farport::cli
