#include "router/mirror/remote_agents.hpp"

#include <algorithm>

#include "router/mirror/agent_route.hpp"
#include "transport/timer.hpp"

namespace farport::router {

using transport::Task;

void RunningLink::start() {
  running_ = link_->run();
  running_.start();
}

Task<void> RunningLink::leave() {
  running_.reset();
  co_await link_->leave();
}

Task<void> RunningLink::retire(RunningLink link) {
  co_await link.leave();
}

namespace {

/// How often to look for agents where they may change. Each look runs a program of the user's.
constexpr transport::Milliseconds kLookPause{5000};

}  // namespace

ReachedAgents::ReachedAgents(MirrorServices& services, MirrorChoice choice,
                             std::shared_ptr<const ReachTarget> target)
    : services_(services), choice_(std::move(choice)), target_(std::move(target)), tasks_(services.loop) {}

Task<void> ReachedAgents::run() {
  for (;;) {
    auto found = co_await target_->find(services_.loop);
    if (found) {
      look_error_.clear();
      take(*found);
    } else {
      if (look_error_ != found.error().message())
        services_.log->warn("{}; looking again", found.error().message());
      look_error_ = found.error().message();
    }
    looked_ = true;
    remove_gone();
    services_.on_change();
    if (found && !target_->changes()) co_return;
    co_await transport::sleep(services_.loop, kLookPause);
  }
}

Task<void> ReachedAgents::leave() {
  tasks_.clear();
  for (LinkEntry& each : links_) {
    tasks_.spawn(each.link.leave());
  }
  co_await tasks_.idle();
}

void ReachedAgents::take(const ReachTarget::Ways& ways) {
  for (LinkEntry& each : links_) {
    each.found =
        std::any_of(ways.begin(), ways.end(), [&](const auto& way) { return way->text() == each.text; });
  }
  for (const std::shared_ptr<const Reach>& way : ways) {
    const bool known = std::any_of(links_.begin(), links_.end(),
                                   [&](const LinkEntry& each) { return each.text == way->text(); });
    if (!known) add_link(way);
  }
}

void ReachedAgents::add_link(const std::shared_ptr<const Reach>& way) {
  LinkOwner& owner = *this;
  auto route = std::make_unique<ReachRoute>(services_.loop, services_.log, way);
  links_.push_back(
      {way->text(), RunningLink(std::make_unique<AgentLink>(services_, owner, choice_, std::move(route)))});
  links_.back().link.start();
}

void ReachedAgents::remove_gone() {
  for (auto each = links_.begin(); each != links_.end();) {
    if (each->found || !each->link->given_up()) {
      ++each;
      continue;
    }
    services_.log->info("{} is gone", each->text);
    tasks_.spawn(RunningLink::retire(std::move(each->link)));
    each = links_.erase(each);
  }
}

bool ReachedAgents::settled() const {
  return looked_ && std::all_of(links_.begin(), links_.end(),
                                [](const LinkEntry& each) { return each.link->settled(); });
}

std::string ReachedAgents::last_error() const {
  std::string error;
  for (const LinkEntry& each : links_) {
    if (each.link->listed()) return {};
    if (error.empty()) error = each.link->last_error();
  }
  if (!error.empty() || !look_error_.empty()) return error.empty() ? look_error_ : error;
  return looked_ && links_.empty() ? "cannot reach " + name() + ": nothing runs there" : std::string();
}

bool ReachedAgents::follows(const std::string& agent) const {
  return std::any_of(links_.begin(), links_.end(),
                     [&](const LinkEntry& each) { return each.link->agent() == agent; });
}

std::vector<const AgentLink*> ReachedAgents::links() const {
  std::vector<const AgentLink*> all;
  for (const LinkEntry& each : links_) all.push_back(each.link.get());
  return all;
}

}  // namespace farport::router
