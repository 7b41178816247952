#include "cli/setup/runtime_session.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "cli/setup/explain.hpp"
#include "cli/setup/remotes.hpp"
#include "router/wire/runtime.hpp"
#include "transport/timer.hpp"

namespace farport::cli {
namespace {

using transport::Task;

/// The runtimes that agents list, each once, since two agents may share one.
struct Listed {
  std::vector<router::Runtime> runtimes;
  std::vector<std::size_t> agents;  ///< Index of each runtime's agent.

  Result<void> add(const router::FoundAgent& found, std::size_t agent) {
    ASSIGN_OR_RETURN(const auto listed, router::runtimes_from_json(found.answer));
    for (const router::Runtime& runtime : listed) {
      const auto same = [&](const router::Runtime& each) { return each.id == runtime.id; };
      if (std::any_of(runtimes.begin(), runtimes.end(), same)) continue;
      runtimes.push_back(runtime);
      runtimes.back().address = found.client->address();
      agents.push_back(agent);
    }
    return {};
  }

  [[nodiscard]] Result<std::size_t> choose(const std::string& wanted) const {
    std::vector<const router::Runtime*> among;
    for (const router::Runtime& each : runtimes) among.push_back(&each);
    return router::choose_runtime(wanted, among);
  }
};

}  // namespace

RuntimeSession::RuntimeSession(transport::Loop& loop, const router::MirroredAgent& agent,
                               const config::SessionSettings& settings,
                               router::SessionManager::OnEnd on_break)
    : loop_(loop), agent_(agent), settings_(settings), on_break_(std::move(on_break)), looking_(loop) {}

Task<Result<router::Runtime>> RuntimeSession::open(std::string wanted) {
  CO_ASSIGN_OR_RETURN(auto found, co_await router::find_agents(
                                      loop_, agent_, router::ClientOptions(loop_, session_options(settings_)),
                                      "/v1/runtimes"));
  Listed listed;
  Result<void> added;
  for (std::size_t i = 0; added && i < found.size(); ++i) added = listed.add(found[i], i);
  const auto chosen = added ? listed.choose(wanted) : tl::unexpected(added.error());
  if (chosen) {
    agent_client_ = std::move(found[listed.agents[*chosen]].client);
    agent_client_->on_break([this](const Error& why) { broke(why); });
    std::erase_if(found, [](const router::FoundAgent& each) { return each.client == nullptr; });
  } else if (chosen.error().cause == ESRCH) {
    co_await explain(found, !listed.runtimes.empty());
  }
  co_await router::leave_agents(loop_, std::move(found));
  if (!chosen) co_return tl::unexpected(chosen.error());
  // The engine may take a second to answer, which nobody waits for.
  looking_.spawn(watch_container());
  co_return std::move(listed.runtimes[*chosen]);
}

Task<Result<router::Artifact>> RuntimeSession::open_artifact(std::string id) {
  CO_ASSIGN_OR_RETURN(auto found, co_await router::find_agents(
                                      loop_, agent_, router::ClientOptions(loop_, session_options(settings_)),
                                      "/v1/artifacts"));
  std::optional<router::Artifact> chosen;
  std::optional<Error> unreadable;
  for (router::FoundAgent& each : found) {
    const auto all = router::artifacts_from_json(each.answer);
    if (!all) unreadable = all.error();
    if (!all || chosen) continue;
    const auto kept = std::ranges::find(*all, id, &router::Artifact::id);
    if (kept == all->end()) continue;
    chosen = *kept;
    agent_client_ = std::move(each.client);
    agent_client_->on_break([this](const Error& why) { broke(why); });
  }
  std::erase_if(found, [](const router::FoundAgent& each) { return each.client == nullptr; });
  co_await router::leave_agents(loop_, std::move(found));
  if (chosen) co_return std::move(*chosen);
  if (unreadable) co_return tl::unexpected(*unreadable);
  co_return fail("get", id, "nothing that you may have is kept under this id",
                 "farport artifacts lists what is");
}

Task<void> RuntimeSession::explain(router::FoundAgents& agents, bool lists_any) {
  const Missing missing = lists_any ? Missing::something : Missing::everything;
  for (const router::FoundAgent& each : agents) {
    const auto lines = co_await explain_search(*each.client, asked_name(agent_), missing);
    explanation_.insert(explanation_.end(), lines.begin(), lines.end());
  }
}

Task<std::optional<router::Restart>> RuntimeSession::restart() {
  const router::Reach* reach = agent_client_->reach();
  if (reach == nullptr) co_return std::nullopt;
  auto restart = co_await reach->restart(loop_);
  co_return restart;
}

Task<void> RuntimeSession::watch_container() {
  const router::Reach* reach = agent_client_->reach();
  if (reach != nullptr) run_ = co_await reach->container_run(loop_);
  // It may have broken before the engine has answered.
  if (broken_ && run_) co_await give_up_if_ended(*std::exchange(run_, std::nullopt));
}

void RuntimeSession::broke(const Error& why) {
  on_break_(why);
  broken_ = true;
  if (run_) looking_.spawn(give_up_if_ended(*std::exchange(run_, std::nullopt)));
}

Task<void> RuntimeSession::give_up_if_ended(router::ContainerRun before) {
  // Engines learn of it a moment later.
  constexpr int kLooksAtEnd = 5;
  constexpr transport::Milliseconds kBetweenLooksAtEnd{1000};
  for (int looks = 0; looks < kLooksAtEnd; ++looks) {
    const auto now = co_await agent_client_->reach()->container_run(loop_);
    if (now && (!now->running || now->id != before.id)) {
      const std::string how = now->ended.empty() ? "" : ": " + now->ended;
      sessions().give_up(
          {"go on with", agent_client_->reach()->text(), "its container has ended meanwhile" + how, {}, {}});
      co_return;
    }
    co_await transport::sleep(loop_, kBetweenLooksAtEnd);
  }
  // It was the connection alone. The next break may be the container's end.
  broken_ = false;
  run_ = std::move(before);
}

Task<void> RuntimeSession::leave() {
  if (agent_client_ != nullptr) co_await agent_client_->leave();
}

}  // namespace farport::cli
