#include "router/mirror/remote_agents.hpp"

#include <algorithm>

#include "router/mirror/agent_route.hpp"
#include "transport/timer.hpp"

namespace farport::router {

using transport::Task;

RemoteAgents::RemoteAgents(MirrorServices& services, MirrorChoice choice, std::string name)
    : services_(services), choice_(std::move(choice)), name_(std::move(name)), ending_(services.loop) {}

RemoteAgents::~RemoteAgents() = default;

void RemoteAgents::add_link(std::string key, std::unique_ptr<AgentRoute> route) {
  AgentRoute* const way = route.get();
  LinkEvents events{
      [this](AgentLink& link, const AgentSession& session) { return may_follow(link, session); },
      [this](AgentLink& link) { link_changed(link); }};
  links_.push_back({std::move(key),
                    way,
                    std::make_unique<AgentLink>(services_, std::move(events), choice_, std::move(route)),
                    {}});
  // Started last: a link calls this object, which must know it by then.
  LinkEntry& entry = links_.back();
  entry.running = entry.link->run();
  entry.running.start();
}

Task<void> RemoteAgents::end(LinkEntry& entry) {
  entry.running.reset();
  co_await entry.link->leave();
}

Task<void> RemoteAgents::retire(LinkEntry entry) {
  co_await end(entry);
}

Task<void> RemoteAgents::leave() {
  for (LinkEntry& each : links_) ending_.spawn(end(each));
  co_await ending_.idle();
}

bool RemoteAgents::remove_gone(std::string_view why) {
  const std::size_t before = links_.size();
  for (auto each = links_.begin(); each != links_.end();) {
    if (!each->superseded && (each->found || !each->link->given_up())) {
      ++each;
      continue;
    }
    if (!each->superseded) services_.log->info("the agent at {} is gone: {}", each->link->address(), why);
    ending_.spawn(retire(std::move(*each)));
    each = links_.erase(each);
  }
  return links_.size() != before;
}

bool RemoteAgents::settled() const {
  return std::all_of(links_.begin(), links_.end(),
                     [](const LinkEntry& each) { return each.superseded || each.link->settled(); });
}

std::string RemoteAgents::last_error() const {
  std::string error;
  for (const LinkEntry& each : links_) {
    if (each.superseded) continue;
    if (each.link->listed()) return {};
    if (error.empty()) error = each.link->last_error();
  }
  return error.empty() ? search_error() : error;
}

bool RemoteAgents::follows(const std::string& agent) const {
  return std::any_of(links_.begin(), links_.end(),
                     [&](const LinkEntry& each) { return !each.superseded && each.link->agent() == agent; });
}

std::vector<const AgentLink*> RemoteAgents::links() const {
  std::vector<const AgentLink*> all;
  for (const LinkEntry& each : links_) all.push_back(each.link.get());
  return all;
}

namespace {

/// How often to look for agents where they may change. Each look runs a program of the user's.
constexpr transport::Milliseconds kLookPause{5000};

}  // namespace

Task<void> ReachedAgents::run() {
  for (;;) {
    auto found = co_await target_->find(services_.loop);
    const std::string error = found ? std::string() : found.error().message();
    const bool changed = !looked_ || error != look_error_;
    if (changed && !error.empty()) services_.log->warn("{}; looking again", error);
    look_error_ = error;
    const bool more = found && take(*found);
    looked_ = true;
    const bool fewer = remove_gone(name() + " does not lead there any more");
    if (changed || more || fewer) services_.on_change();
    if (found && !target_->changes()) co_return;
    co_await transport::sleep(services_.loop, kLookPause);
  }
}

bool ReachedAgents::take(const ReachTarget::Ways& ways) {
  const std::size_t before = links_.size();
  for (LinkEntry& each : links_) {
    each.found =
        std::any_of(ways.begin(), ways.end(), [&](const auto& way) { return way->text() == each.key; });
  }
  for (const std::shared_ptr<const Reach>& way : ways) {
    const bool known = std::any_of(links_.begin(), links_.end(),
                                   [&](const LinkEntry& each) { return each.key == way->text(); });
    if (!known) add_link(way->text(), std::make_unique<ReachRoute>(services_.loop, services_.log, way));
  }
  return links_.size() != before;
}

std::string ReachedAgents::search_error() const {
  if (!look_error_.empty()) return look_error_;
  return looked_ && links_.empty() ? "cannot reach " + name() + ": nothing runs there" : std::string();
}

ProxiedAgent::ProxiedAgent(MirrorServices& services, MirrorChoice choice, const Proxy& proxy,
                           const AgentAddress& agent, CredentialWatch& credentials)
    : RemoteAgents(services, std::move(choice), agent.text()),
      route_(std::make_unique<ProxyRoute>(services.loop, proxy, agent, credentials,
                                          services.session.agents->strangers())) {}

Task<void> ProxiedAgent::run() {
  add_link({}, std::move(route_));
  co_return;
}

}  // namespace farport::router
