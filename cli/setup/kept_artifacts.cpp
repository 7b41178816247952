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
    std::ranges::move(*found[at], std::back_inserter(kept.agents_));
  }
  std::ranges::stable_sort(kept.all_, {}, [](const KeptArtifact& each) { return each.artifact.time; });
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

const KeptArtifact* KeptArtifacts::find(const std::string& id) const {
  const auto known = std::ranges::find(
      all_, id, [](const KeptArtifact& each) -> const auto& { return each.artifact.id; });
  return known == all_.end() ? nullptr : &*known;
}

Task<void> KeptArtifacts::leave(transport::Loop& loop) {
  all_.clear();
  co_await router::leave_agents(loop, std::exchange(agents_, {}));
}

}  // namespace farport::cli
