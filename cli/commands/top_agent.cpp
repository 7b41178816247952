#include "cli/commands/top_agent.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/guid.hpp"
#include "router/wire/runtime.hpp"
#include "transport/timer.hpp"

namespace farport::cli {
namespace {

using transport::Task;

/// How often an agent is asked which runtimes there are.
constexpr transport::Milliseconds kBetweenLists{2000};
/// Of one agent: each takes a session of counters in the application.
constexpr std::size_t kMostFollowed = 200;

}  // namespace

TopAgent::TopAgent(transport::Loop& loop, router::FoundAgent found, transport::Milliseconds interval,
                   transport::Condition& changed)
    : loop_(loop), agent_(std::move(found.client)), interval_(interval), changed_(changed), listing_(list()) {
  agent_->on_break([this](const Error& why) { say(why.message()); });
  take_list(std::move(found.answer));
  listing_.start();
}

Task<void> TopAgent::leave() {
  listing_.reset();
  followed_.clear();
  co_await agent_->leave();
}

Task<void> TopAgent::list() {
  for (;;) {
    co_await transport::sleep(loop_, kBetweenLists);
    take_list(co_await agent_->get("/v1/runtimes"));
  }
}

void TopAgent::take_list(const Result<std::string>& answer) {
  const Result<void> taken = answer ? follow(*answer) : tl::unexpected(answer.error());
  say(taken ? std::string() : taken.error().message());
}

void TopAgent::say(std::string trouble) {
  trouble_ = std::move(trouble);
  changed_.changed();
}

Result<void> TopAgent::follow(const std::string& list) {
  auto listed = router::runtimes_from_json(list);
  if (!listed) return tl::unexpected(listed.error());
  // An id becomes part of a path.
  std::erase_if(*listed, [](const router::Runtime& runtime) { return !Guid::parse(runtime.id); });
  std::erase_if(followed_, [&](const auto& each) {
    return std::none_of(listed->begin(), listed->end(),
                        [&](const router::Runtime& runtime) { return runtime.id == each.first; });
  });
  unfollowed_.clear();
  for (router::Runtime& runtime : *listed) {
    runtime.address = agent_->address();
    const auto known = followed_.find(runtime.id);
    if (known != followed_.end()) {
      known->second->update(runtime);
    } else if (followed_.size() < kMostFollowed) {
      followed_.emplace(runtime.id,
                        std::make_unique<FollowedRuntime>(agent_->sessions(), runtime, interval_, changed_));
    } else {
      TopRuntime& each = unfollowed_.emplace_back();
      each.runtime = runtime;
      each.trouble = fmt::format("only {} of an agent's are followed", kMostFollowed);
    }
  }
  return {};
}

std::vector<TopRuntime> TopAgent::runtimes() const {
  std::vector<TopRuntime> all;
  for (const auto& [id, followed] : followed_) all.push_back(followed->now());
  all.insert(all.end(), unfollowed_.begin(), unfollowed_.end());
  return all;
}

}  // namespace farport::cli
