#include "cli/explain.hpp"

#include "router/wire/diagnosis.hpp"
#include "router/wire/http_status.hpp"
#include "transport/race.hpp"
#include "transport/task_set.hpp"

namespace farport::cli {
namespace {

using transport::Task;
using Lines = std::vector<std::string>;

/// For all agents together.
constexpr transport::Milliseconds kPatience{5000};

constexpr const char* kQuestion = "/v1/doctor?runtimes=false";
constexpr const char* kOldAgent = "  it is of a version that says no more; its log does";

void append(Lines& all, Lines more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::string heading(const std::string& agent, Missing missing) {
  return agent + (missing == Missing::everything ? " lists no runtime that you may see:"
                                                 : " has found more than it can list:");
}

/// What its answer comes to; nothing where there is nothing to say.
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

Task<void> add_explanation(transport::Loop& loop, const router::MirroredAgent& agent, Missing missing,
                           Lines& all) {
  auto found = co_await router::find_agents(loop, agent, {}, kQuestion);
  Lines lines;
  if (!found) lines = explain(tl::unexpected(found.error()), {}, asked_name(agent), missing);
  for (std::size_t i = 0; found && i < found->size(); ++i) {
    const router::FoundAgent& each = (*found)[i];
    append(lines, explain(each.answer, each.client->address(), asked_name(agent), missing));
  }
  append(all, std::move(lines));
  if (found) co_await router::leave_agents(loop, std::move(*found));
}

/// Of all agents at once, in the order in which they answer.
Task<void> add_explanations(transport::Loop& loop, const std::vector<router::MirroredAgent>& agents,
                            Missing missing, Lines& all) {
  transport::TaskSet asking(loop);
  for (const router::MirroredAgent& agent : agents) asking.spawn(add_explanation(loop, agent, missing, all));
  co_await asking.idle();
}

}  // namespace

std::string asked_name(const router::MirroredAgent& agent) {
  return agent.remote.empty() ? agent.address.text() : agent.remote;
}

Task<Lines> explain_search(router::AgentClient& agent, std::string name, Missing missing) {
  const auto answer = co_await agent.get(kQuestion);
  co_return explain(answer, agent.address(), name, missing);
}

Task<Lines> explain_agents(transport::Loop& loop, std::vector<router::MirroredAgent> agents,
                           Missing missing) {
  Lines all;
  co_await add_explanations(loop, agents, missing, all);
  co_return all;
}

Task<Lines> explain_empty(transport::Loop& loop, std::vector<router::MirroredAgent> agents) {
  std::erase_if(agents, [](const router::MirroredAgent& agent) { return !agent.select.empty(); });
  Lines all;
  // Those that have answered by then are told of.
  co_await with_deadline(loop, add_explanations(loop, agents, Missing::everything, all), kPatience);
  co_return all;
}

}  // namespace farport::cli
