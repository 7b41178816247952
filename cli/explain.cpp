#include "cli/explain.hpp"

#include "cli/text.hpp"
#include "router/mirror/ask_agent.hpp"
#include "router/wire/discovery_report.hpp"
#include "transport/race.hpp"

namespace farport::cli {
namespace {

using transport::Task;
using Lines = std::vector<std::string>;

/// For all agents together.
constexpr transport::Milliseconds kPatience{5000};

constexpr const char* kNothingWrong =
    "  it knows of nothing that is wrong: does an application run there, and is there a grant for it? "
    "farport "
    "can-i says what you may do";

constexpr const char* kOldAgent = "  it is of a version that says no more; its log does";

void add_lines(Lines& lines, const router::AgentAnswer& answer, Missing missing) {
  const auto told = router::explanation_from_json(answer.body);
  if (!told) {
    lines.push_back(told.error().message());
    return;
  }
  if (told->problems.empty() && missing == Missing::something) return;
  lines.push_back(answer.address + (missing == Missing::everything ? " lists no runtime that you may see:"
                                                                   : " has found more than it can list:"));
  if (!told->searched.empty()) lines.push_back("  " + told->searched);
  for (const std::string& problem : told->problems) lines.push_back("  " + problem);
  if (!told->told) lines.emplace_back(kOldAgent);
  if (told->told && told->problems.empty()) lines.emplace_back(kNothingWrong);
}

}  // namespace

Task<Lines> explain_search(transport::Loop& loop, router::MirroredAgent agent, Missing missing,
                           std::string only) {
  Lines lines;
  const auto answers = co_await router::ask_agent(loop, agent, "/v1/agent");
  if (!answers) co_return lines;
  for (const router::AgentAnswer& answer : *answers) {
    if (only.empty() || answer.address == only) add_lines(lines, answer, missing);
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
