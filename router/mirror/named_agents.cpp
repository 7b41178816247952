#include "router/mirror/named_agents.hpp"

#include <algorithm>

#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::Address;
using transport::Milliseconds;
using transport::Task;

/// Usual and shortest interval between name lookups.
constexpr Milliseconds kLookAgain{3000};
constexpr Milliseconds kMinBetween{500};

bool contains(const std::vector<Address>& all, const Address& address) {
  return std::find(all.begin(), all.end(), address) != all.end();
}

std::vector<Address> without(const std::vector<Address>& all, const Address& address) {
  std::vector<Address> others = all;
  std::erase(others, address);
  return others;
}

}  // namespace

NamedAgents::NamedAgents(MirrorServices& services, MirrorChoice choice, AgentAddress name,
                         CredentialWatch& credentials)
    : RemoteAgents(services, std::move(choice), name.text()),
      agent_(std::move(name)),
      credentials_(credentials),
      pending_changed_(services.loop),
      look_now_(services.loop),
      dialling_(services.loop) {}

NamedAgents::~NamedAgents() = default;

Task<void> NamedAgents::run() {
  dialling_.spawn(dial_pending());
  const bool literal = transport::is_literal(agent_.host);
  for (;;) {
    const std::vector<Address> before = addresses_;
    const std::string error_before = lookup_error_;
    bool changed = !looked_up_;
    if (!literal || !looked_up_) {
      auto found = co_await transport::resolve(services_.loop, agent_.host, agent_.port);
      if (found) take(transport::interleave_families(*found));
      if (!found) note_failure(found.error());
    } else {
      // Retries addresses whose agent was followed under another name until now.
      take(addresses_);
    }
    looked_up_ = true;
    changed = remove_gone(name() + " does not lead there any more") || changed;
    // Each call has all rows drawn again. A thousand names make a thousand of these lookups every three
    // seconds.
    if (changed || addresses_ != before || lookup_error_ != error_before) services_.on_change();
    co_await transport::sleep(services_.loop, kMinBetween);
    co_await with_deadline(services_.loop, look_now_.wait(), kLookAgain - kMinBetween);
  }
}

Task<void> NamedAgents::leave() {
  dialling_.clear();
  return RemoteAgents::leave();
}

void NamedAgents::note_failure(const Error& why) {
  // Keep the addresses found before: a resolver may fail temporarily.
  if (lookup_error_ != why.message()) services_.log->warn("{}; looking again", why.message());
  lookup_error_ = why.message();
}

void NamedAgents::take(std::vector<Address> addresses) {
  addresses_ = std::move(addresses);
  lookup_error_.clear();
  for (LinkEntry& each : links_) {
    std::vector<Address> still;
    for (const Address& address : route_of(each).addresses()) {
      if (contains(addresses_, address)) still.push_back(address);
    }
    each.found = !still.empty();
    // If none is left, keep the old ones: a name may be wrong for a moment, and running requests wait to be
    // resumed.
    if (each.found) move_to(each, std::move(still));
  }
  std::erase_if(pending_, [&](const Address& address) { return !contains(addresses_, address); });
  std::erase_if(elsewhere_, [&](const Elsewhere& each) {
    return !contains(addresses_, each.address) || !services_.is_followed_elsewhere(*this, each.agent);
  });
  for (const Address& address : addresses_) {
    if (!claimed(address) && !contains(pending_, address)) pending_.push_back(address);
  }
  pending_changed_.set();
}

bool NamedAgents::claimed(const Address& address) const {
  const auto is_at = [&](const Elsewhere& each) { return each.address == address; };
  if (std::any_of(elsewhere_.begin(), elsewhere_.end(), is_at)) return true;
  return std::any_of(links_.begin(), links_.end(), [&](const LinkEntry& each) {
    return !each.superseded && contains(route_of(each).addresses(), address);
  });
}

Task<void> NamedAgents::dial_pending() {
  for (;;) {
    while (pending_.empty()) co_await pending_changed_.wait();
    const Address address = pending_.front();
    pending_.erase(pending_.begin());
    if (claimed(address)) {
      // settled() may depend on it.
      services_.on_change();
      continue;
    }
    const std::size_t outcomes = outcomes_;
    dial(address);
    if (is_fleet()) continue;
    // The other addresses may lead to the same agent, so the first one has a head start (RFC 8305).
    bool waited = false;
    const transport::Deadline alone(services_.loop, transport::kAttemptDelay, [&] {
      waited = true;
      pending_changed_.set();
    });
    while (!waited && outcomes == outcomes_) co_await pending_changed_.wait();
  }
}

void NamedAgents::dial(const Address& address) {
  add_link({}, std::make_unique<TcpRoute>(services_.loop, std::vector{address}, agent_.verified_name(),
                                          credentials_, services_.session.agents->strangers()));
}

bool NamedAgents::is_fleet() const {
  const std::string* first = nullptr;
  for (const LinkEntry& each : links_) {
    const std::string& instance = each.link->instance();
    if (instance.empty()) continue;
    if (first != nullptr && *first != instance) return true;
    first = &instance;
  }
  return false;
}

NamedAgents::LinkEntry* NamedAgents::kept(const AgentLink& link) {
  const auto found = std::find_if(links_.begin(), links_.end(),
                                  [&](const LinkEntry& each) { return each.link.get() == &link; });
  return found == links_.end() ? nullptr : &*found;
}

NamedAgents::LinkEntry* NamedAgents::other_with(const AgentLink& link, const std::string& instance) {
  const auto found = std::find_if(links_.begin(), links_.end(), [&](const LinkEntry& each) {
    return each.link.get() != &link && !each.superseded && each.link->instance() == instance;
  });
  return found == links_.end() ? nullptr : &*found;
}

void NamedAgents::move_to(LinkEntry& entry, std::vector<Address> addresses) {
  if (route_of(entry).set_addresses(std::move(addresses))) entry.link->sessions().dial_now();
}

bool NamedAgents::may_follow(AgentLink& link, const AgentSession& session) {
  const std::string& instance = session.instance();
  const Address address = *session.peer();
  ++outcomes_;
  pending_changed_.set();
  LinkEntry* own = kept(link);
  if (instance.empty() || own == nullptr) return true;
  const std::vector<Address>& all = route_of(*own).addresses();
  if (LinkEntry* other = other_with(link, instance)) {
    services_.log->info("{} is the same agent as {}", address.text(), other->link->address());
    std::vector<Address> more = route_of(*other).addresses();
    if (!contains(more, address)) more.push_back(address);
    move_to(*other, std::move(more));
    own->superseded = link.instance().empty();
    if (!own->superseded) move_to(*own, without(all, address));
    look_now_.set();
    return false;
  }
  if (leave_to_another(*own, address)) return false;
  if (!link.instance().empty() && link.instance() != instance && all.size() > 1) {
    // Addresses that led to one agent may lead to several now: the next lookup dials the others anew.
    move_to(*own, {address});
    look_now_.set();
  }
  return true;
}

bool NamedAgents::leave_to_another(LinkEntry& own, const Address& address) {
  const auto session = own.link->sessions().session();
  if (session == nullptr || !services_.is_followed_elsewhere(*this, session->agent())) return false;
  services_.log->info("the agent of {} at {} is followed under another name", name(), address.text());
  elsewhere_.push_back({address, session->agent()});
  own.superseded = true;
  look_now_.set();
  return true;
}

bool NamedAgents::follows(const std::string& agent) const {
  return std::any_of(links_.begin(), links_.end(), [&](const LinkEntry& each) {
    return !each.superseded && each.link->agent() == agent && !each.link->given_up();
  });
}

bool NamedAgents::followed_elsewhere(const std::string& agent) const {
  return std::any_of(elsewhere_.begin(), elsewhere_.end(),
                     [&](const Elsewhere& each) { return each.agent == agent; });
}

bool NamedAgents::is_alias() const {
  return links().empty() && !elsewhere_.empty() && pending_.empty();
}

void NamedAgents::link_changed(AgentLink& link) {
  ++outcomes_;
  pending_changed_.set();
  if (link.listed()) {
    if (!others_) others_.emplace(services_.loop, kOtherAddresses, [this] { services_.on_change(); });
  } else if (!link.given_up()) {
    // Another agent may have taken its address.
    look_now_.set();
  }
}

bool NamedAgents::settled() const {
  if (!looked_up_) return false;
  if (others_ && others_->expired()) return true;
  return pending_.empty() && RemoteAgents::settled();
}

std::vector<const AgentLink*> NamedAgents::links() const {
  const auto family = [](const LinkEntry& each) {
    const std::vector<Address>& all = route_of(each).addresses();
    return all.empty() ? AF_UNSPEC : static_cast<int>(all.front().storage.ss_family);
  };
  std::vector<int> connected;
  for (const LinkEntry& each : links_) {
    if (each.link->listed()) connected.push_back(family(each));
  }
  std::vector<const AgentLink*> shown;
  for (const LinkEntry& each : links_) {
    const bool of_connected_family =
        std::find(connected.begin(), connected.end(), family(each)) != connected.end();
    const bool never = each.link->instance().empty() && !each.link->listed();
    if (each.superseded || (never && !connected.empty() && !of_connected_family)) continue;
    shown.push_back(each.link.get());
  }
  return shown;
}

}  // namespace farport::router
