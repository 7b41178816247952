#include "cli/find_runtime.hpp"

#include <algorithm>

#include "router/mirror/ask_agent.hpp"
#include "router/wire/runtime_json.hpp"
#include "router/wire/runtime_names.hpp"

namespace farport::cli {
namespace {

Result<FoundRuntime> choose(std::vector<FoundRuntime> found, const std::string& wanted) {
  std::vector<const router::Runtime*> among;
  for (const FoundRuntime& each : found) among.push_back(&each.runtime);
  const auto chosen = router::choose_runtime(wanted, among);
  if (!chosen) return tl::unexpected(chosen.error());
  return std::move(found[*chosen]);
}

}  // namespace

transport::Task<Result<FoundRuntime>> find_runtime(transport::Loop& loop, router::MirroredAgent agent,
                                                   std::string wanted, Missing& missing) {
  const auto answers = co_await router::ask_agent(loop, agent, "/v1/runtimes");
  if (!answers) co_return tl::unexpected(answers.error());
  std::vector<FoundRuntime> found;
  for (const router::AgentAnswer& answer : *answers) {
    const auto runtimes = router::runtimes_from_json(answer.body);
    if (!runtimes) co_return tl::unexpected(runtimes.error());
    for (const router::Runtime& runtime : *runtimes) {
      // Two agents may share a runtime.
      const auto same = [&](const FoundRuntime& each) { return each.runtime.id == runtime.id; };
      if (std::any_of(found.begin(), found.end(), same)) continue;
      found.push_back({answer.addresses, answer.reach, runtime});
      found.back().runtime.address = answer.address;
    }
  }
  if (!found.empty()) missing = Missing::something;
  co_return choose(std::move(found), wanted);
}

}  // namespace farport::cli
