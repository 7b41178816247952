#include "cli/ask_all.hpp"

#include <set>

#include "transport/task_set.hpp"

namespace farport::cli {
namespace {

using transport::Task;
using Answers = Result<std::vector<router::AgentAnswer>>;

Task<void> ask(transport::Loop& loop, const router::MirroredAgent& agent, std::string path,
               Answers& answers) {
  answers = co_await router::ask_agent(loop, agent, std::move(path));
}

/// Leaves each agent in the first answers that it is in.
void leave_once(std::vector<Answers>& all) {
  std::set<std::string> seen;
  for (Answers& answers : all) {
    if (!answers) continue;
    std::erase_if(*answers, [&](const router::AgentAnswer& answer) {
      return !answer.agent.empty() && !seen.insert(answer.agent).second;
    });
  }
}

}  // namespace

Task<std::vector<Answers>> ask_all(transport::Loop& loop, std::vector<router::MirroredAgent> agents,
                                   std::string path) {
  std::vector<Answers> all(agents.size());
  transport::TaskSet asking(loop);
  for (std::size_t i = 0; i < agents.size(); ++i) asking.spawn(ask(loop, agents[i], path, all[i]));
  co_await asking.idle();
  leave_once(all);
  co_return all;
}

}  // namespace farport::cli
