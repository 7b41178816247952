#include "cli/setup/kept_artifacts.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace farport::cli {

using transport::Task;

namespace {

constexpr const char* kPath = "/v1/artifacts";

}  // namespace

Task<KeptArtifacts> KeptArtifacts::ask(transport::Loop& loop, std::vector<router::MirroredAgent> agents,
                                       router::ClientOptions options) {
  KeptArtifacts kept;
  auto found = co_await router::find_all_agents(loop, agents, std::move(options), kPath);
  for (std::size_t at = 0; at < agents.size(); ++at) {
    if (!found[at]) {
      kept.failures_.push_back(found[at].error());
      continue;
    }
    for (const router::FoundAgent& each : *found[at]) kept.add(each, agents[at].select);
    kept.names_.push_back({std::move(*found[at]), std::move(agents[at].select)});
  }
  kept.sort();
  co_return kept;
}

void KeptArtifacts::add(const router::FoundAgent& found, const std::vector<std::string>& select) {
  auto listed = router::artifacts_from_json(found.answer);
  if (!listed) return failures_.push_back(listed.error());
  for (router::Artifact& each : *listed) {
    if (router::is_selected(select, each.runtime) && find(each.id) == nullptr)
      all_.push_back({std::move(each), found.client.get()});
  }
}

void KeptArtifacts::sort() {
  std::ranges::stable_sort(all_, {}, [](const KeptArtifact& each) { return each.artifact.time; });
}

const KeptArtifact* KeptArtifacts::find(const std::string& id) const {
  const auto known = std::ranges::find(
      all_, id, [](const KeptArtifact& each) -> const auto& { return each.artifact.id; });
  return known == all_.end() ? nullptr : &*known;
}

Task<void> KeptArtifacts::ask_again() {
  all_.clear();
  failures_.clear();
  for (Named& name : names_) {
    for (router::FoundAgent& each : name.agents) {
      auto answer = co_await each.client->get(kPath);
      if (!answer) {
        failures_.push_back(answer.error());
        continue;
      }
      each.answer = std::move(*answer);
      add(each, name.select);
    }
  }
  sort();
}

Task<void> KeptArtifacts::leave(transport::Loop& loop) {
  all_.clear();
  router::FoundAgents agents;
  for (Named& name : std::exchange(names_, {})) std::ranges::move(name.agents, std::back_inserter(agents));
  co_await router::leave_agents(loop, std::move(agents));
}

}  // namespace farport::cli
