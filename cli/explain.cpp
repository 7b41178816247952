#include "cli/explain.hpp"

#include "cli/text.hpp"
#include "router/mirror/ask_agent.hpp"
#include "router/wire/diagnosis.hpp"
#include "router/wire/http_status.hpp"
#include "transport/race.hpp"

namespace farport::cli {
namespace {

using transport::Task;
using Lines = std::vector<std::string>;

/// For all agents together.
constexpr transport::Milliseconds kPatience{5000};

constexpr const char* kOldAgent = "  it is of a version that says no more; its log does";

/// What its user calls it.
std::string asked_name(const router::MirroredAgent& agent) {
  return agent.remote.empty() ? agent.address.text() : agent.remote;
}

std::string heading(const std::string& agent, Missing missing) {
  return agent + (missing == Missing::everything ? " lists no runtime that you may see:"
                                                 : " has found more than it can list:");
}

void add_lines(Lines& lines, const router::AgentAnswer& answer, const std::string& name, Missing missing) {
  const auto told = router::doctor_answer_from_json(answer.body);
  if (!told) {
    lines.push_back(told.error().message());
    return;
  }
  Lines wrong;
  for (const router::Diagnosis& each : told->diagnoses) {
    const bool worth = each.finding.level != Finding::Level::ok ||
                       (missing == Missing::everything && each.step == router::step::kSearch);
    if (!worth) continue;
    wrong.push_back("  " + each.finding.text + (each.finding.hint.empty() ? "" : "; " + each.finding.hint));
  }
  if (wrong.empty() && missing == Missing::something) return;
  lines.push_back(heading(answer.address, missing));
  lines.insert(lines.end(), wrong.begin(), wrong.end());
  lines.push_back("  farport doctor " + name + " tries out each thing on the way");
}

}  // namespace

Task<Lines> explain_search(transport::Loop& loop, router::MirroredAgent agent, Missing missing,
                           std::string only) {
  Lines lines;
  const auto answers = co_await router::ask_agent(loop, agent, "/v1/doctor?runtimes=false");
  if (!answers && answers.error().cause == Cause::http(router::http_status::kNotFound)) {
    lines = {heading(asked_name(agent), missing), kOldAgent};
  }
  if (!answers) co_return lines;
  for (const router::AgentAnswer& answer : *answers) {
    if (only.empty() || answer.address == only) add_lines(lines, answer, asked_name(agent), missing);
  }
  co_return lines;
}

namespace {

Task<void> add_explanations(transport::Loop& loop, std::vector<router::MirroredAgent> agents, Lines& all) {
  for (const router::MirroredAgent& agent : agents) {
    if (!agent.select.empty()) continue;
    const Lines lines = co_await explain_search(loop, agent, Missing::everything);
    all.insert(all.end(), lines.begin(), lines.end());
  }
}

}  // namespace

Task<Lines> explain_empty(transport::Loop& loop, std::vector<router::MirroredAgent> agents) {
  Lines all;
  // Those that have answered by then are told of.
  co_await with_deadline(loop, add_explanations(loop, std::move(agents), all), kPatience);
  co_return all;
}

Task<void> print_explanation(transport::Loop& loop, std::vector<router::MirroredAgent> agents,
                             Missing missing, std::string only) {
  for (const router::MirroredAgent& agent : agents) {
    const Lines lines = co_await explain_search(loop, agent, missing, only);
    for (const std::string& line : lines) print_message(line);
  }
}

}  // namespace farport::cli
