#include "cli/top_agent.hpp"

#include <algorithm>

#include "base/guid.hpp"
#include "cli/session_options.hpp"
#include "router/mirror/answers.hpp"
#include "router/mirror/found_route.hpp"
#include "router/wire/runtime_json.hpp"
#include "transport/timer.hpp"

namespace farport::cli {
namespace {

using transport::Task;

/// How often an agent is asked which runtimes there are.
constexpr transport::Milliseconds kBetweenLists{2000};
/// Of one agent: more fit no screen, and each takes a session.
constexpr std::size_t kMostRuntimes = 200;

}  // namespace

TopAgent::TopAgent(transport::Loop& loop, const router::MirroredAgent& agent,
                   const router::AgentAnswer& answer, const config::TopSettings& settings)
    : settings_(settings),
      log_(make_silent_log()),
      sessions_(loop, log_,
                router::found_route(
                    loop, log_, agent, answer.reach, answer.addresses,
                    answer.reach == nullptr ? &credentials_.emplace(loop, log_, agent.credentials) : nullptr),
                session_options(settings.session)),
      address_(answer.address) {}

void TopAgent::start() {
  router::SessionManager::OnSession in_session = [this](router::AgentSession& session) {
    return list(session);
  };
  dialling_ = sessions_.run(std::move(in_session), [this](const Error& why) { trouble_ = why.message(); });
  dialling_.start();
}

Task<void> TopAgent::leave() {
  dialling_.reset();
  followed_.clear();
  co_await sessions_.leave();
}

Task<void> TopAgent::list(router::AgentSession& session) {
  for (;;) {
    const auto asked = co_await session.ask("GET", "/v1/runtimes");
    if (!asked) co_return;
    session.learn_instance((*asked)->head());
    const auto answer = co_await router::read_answer(**asked);
    trouble_ = answer ? take_list(*answer) : answer.error().message();
    co_await transport::sleep(session.loop(), kBetweenLists);
  }
}

std::string TopAgent::take_list(const std::string& json) {
  auto listed = router::runtimes_from_json(json);
  if (!listed) return listed.error().message();
  // An id becomes part of a path.
  std::erase_if(*listed, [](const router::Runtime& runtime) { return !Guid::parse(runtime.id); });
  if (listed->size() > kMostRuntimes) listed->resize(kMostRuntimes);
  std::erase_if(followed_, [&](const auto& each) {
    return std::none_of(listed->begin(), listed->end(),
                        [&](const router::Runtime& runtime) { return runtime.id == each.first; });
  });
  for (router::Runtime& runtime : *listed) {
    runtime.address = address_;
    const auto known = followed_.find(runtime.id);
    if (known != followed_.end()) {
      known->second->update(runtime);
    } else {
      followed_.emplace(runtime.id,
                        std::make_unique<FollowedRuntime>(sessions_, runtime, settings_.interval));
    }
  }
  return {};
}

std::vector<TopRuntime> TopAgent::runtimes() const {
  std::vector<TopRuntime> all;
  for (const auto& [id, followed] : followed_) all.push_back(followed->now());
  return all;
}

}  // namespace farport::cli
