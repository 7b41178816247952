#include "router/mirror/find_agents.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>
#include <set>

#include "router/mirror/agent_route.hpp"
#include "transport/race.hpp"
#include "transport/task_set.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Task;

/// Time limit for an agent's answer, from the start of its session.
constexpr transport::Milliseconds kAnswerLimit{20'000};

/// Whether a request failed because its session ended for a reason of its own: the peer closed, did not
/// accept our certificate, or turned us away.
bool is_end_of_session(const Error& error) {
  return error.cause == Cause() || error.cause.kind() == Cause::Kind::alert || error.cause == EACCES;
}

Error no_answer(const std::string& address) {
  return Error{"ask", address, "it does not answer", {}, Cause(ETIMEDOUT)};
}

}  // namespace

AgentClient::AgentClient(transport::Loop& loop, const MirroredAgent& agent, AgentPlace place,
                         const ClientOptions& options)
    : loop_(loop),
      log_(make_silent_log()),
      reach_(place.reach),
      sessions_(loop, log_, route_to(agent, place, options.agents->strangers()), options),
      answered_(loop) {
  address_ = sessions_.address();
}

AgentClient::~AgentClient() = default;

std::unique_ptr<AgentRoute> AgentClient::route_to(const MirroredAgent& agent, const AgentPlace& place,
                                                  transport::Share& time) {
  if (place.reach != nullptr) return std::make_unique<ReachRoute>(loop_, log_, place.reach);
  credentials_.emplace(loop_, log_, agent.credentials);
  if (!place.address)
    return std::make_unique<ProxyRoute>(loop_, *agent.proxy, agent.address, *credentials_, time);
  std::vector<transport::Address> addresses(1, *place.address);
  auto route = std::make_unique<TcpRoute>(loop_, std::move(addresses), agent.address.verified_name(),
                                          *credentials_, time);
  tcp_ = route.get();
  return route;
}

void AgentClient::add_place(const AgentPlace& other) {
  if (tcp_ == nullptr || !other.address) return;
  std::vector<transport::Address> addresses = tcp_->addresses();
  addresses.push_back(*other.address);
  tcp_->set_addresses(std::move(addresses));
}

Task<Result<std::string>> AgentClient::open(std::string path) {
  SessionManager::OnSession in_session = [this, path](AgentSession& session) { return begin(session, path); };
  SessionManager::OnEnd on_end = [this](const Error& why) { ended(why); };
  dialling_ = sessions_.run(std::move(in_session), std::move(on_end));
  dialling_.start();
  while (!first_) co_await answered_.wait();
  if (!*first_) co_await leave();
  co_return std::move(*first_);
}

Task<void> AgentClient::begin(AgentSession& session, std::string path) {
  if (first_) {
    co_await ask_instance(session);
    co_return;
  }
  const transport::Deadline limit(loop_, kAnswerLimit,
                                  [&session] { session.abort(no_answer(session.address())); });
  auto answer = co_await ask_in(session, "GET", std::move(path));
  // If the session ended, its own error says more than that of the request in it; see ended().
  if (!answer && is_end_of_session(answer.error())) {
    session.abort(answer.error());
    co_return;
  }
  agent_ = session.agent();
  first_ = std::move(answer);
  answered_.set();
}

void AgentClient::ended(const Error& why) {
  if (first_) {
    if (on_break_) on_break_(why);
    return;
  }
  first_ = tl::unexpected(why);
  answered_.set();
}

Task<Result<std::string>> AgentClient::ask(std::string method, std::string path) {
  const auto ask = [](SessionManager& sessions, std::string how,
                      std::string what) -> Task<Result<std::string>> {
    std::shared_ptr<AgentSession> session = sessions.session();
    while (session == nullptr) {
      co_await sessions.session_changed().wait();
      session = sessions.session();
    }
    auto body = co_await ask_in(*session, std::move(how), std::move(what));
    co_return body;
  };
  auto body = co_await with_deadline(loop_, ask(sessions_, std::move(method), std::move(path)), kAnswerLimit);
  if (!body) co_return tl::unexpected(no_answer(address_));
  co_return std::move(*body);
}

Task<void> AgentClient::leave() {
  dialling_.reset();
  co_await sessions_.leave();
}

namespace {

/// A place where an agent may be, and its answer.
struct AgentProbe {
  AgentPlace place;
  std::unique_ptr<AgentClient> client;
  std::optional<Result<std::string>> answer{};  ///< Set once it is known.
};

/// Asks at all places behind one name.
class Search {
 public:
  Search(transport::Loop& loop, const MirroredAgent& agent, const ClientOptions& options,
         std::vector<AgentPlace> places)
      : loop_(loop), changed_(loop), asking_(loop) {
    for (AgentPlace& place : places) {
      asked_.push_back({place, std::make_unique<AgentClient>(loop, agent, place, options)});
    }
  }

  Task<Result<FoundAgents>> run(std::string path) {
    for (AgentProbe& each : asked_) asking_.spawn(ask(each, path));
    while (!is_over()) co_await changed_.wait();
    FoundAgents found;
    FoundAgents again;
    for (AgentProbe& each : asked_) {
      if (!each.answer || !*each.answer) continue;
      AgentClient* const known = known_in(found, each.client->agent());
      if (known != nullptr) known->add_place(each.place);
      (known == nullptr ? found : again).push_back({std::move(each.client), std::move(**each.answer)});
    }
    co_await leave_agents(loop_, std::move(again));
    if (found.empty()) co_return tl::unexpected(asked_.front().answer->error());
    co_return found;
  }

 private:
  Task<void> ask(AgentProbe& asked, std::string path) {
    auto answer = co_await asked.client->open(std::move(path));
    // The agent of a broken connection is not known, so the error names the route.
    if (!answer && asked.place.reach != nullptr && asked.client->agent().empty())
      answer.error().on = asked.place.reach->text();
    asked.answer = std::move(answer);
    // Only addresses start the time limit; commands take as long as they need.
    if (*asked.answer && asked.place.reach == nullptr && !others_) {
      others_.emplace(loop_, kOtherAddresses, [this] { changed_.set(); });
    }
    changed_.set();
  }

  [[nodiscard]] bool is_over() const {
    const bool waited = others_ && others_->expired();
    return std::all_of(asked_.begin(), asked_.end(), [&](const AgentProbe& each) {
      return each.answer || (waited && !each.client->connected());
    });
  }

  /// The client for an agent that was found before. Agents that tell no identity count as different ones.
  static AgentClient* known_in(const FoundAgents& found, const std::string& agent) {
    const auto same = [&](const FoundAgent& each) { return each.client->agent() == agent; };
    const auto known = std::find_if(found.begin(), found.end(), same);
    return agent.empty() || known == found.end() ? nullptr : known->client.get();
  }

  transport::Loop& loop_;
  std::vector<AgentProbe> asked_;
  std::optional<transport::Deadline> others_;  ///< Runs since one has answered.
  transport::Event changed_;
  transport::TaskSet asking_;
};

/// The routes or addresses behind a name; one place if a proxy resolves it.
Task<Result<std::vector<AgentPlace>>> places_of(transport::Loop& loop, MirroredAgent agent) {
  std::vector<AgentPlace> places;
  if (agent.reach != nullptr) {
    CO_ASSIGN_OR_RETURN(const auto ways, co_await agent.reach->find(loop));
    if (ways.empty()) co_return fail("reach", agent.reach->text(), "nothing runs there");
    for (const std::shared_ptr<const Reach>& way : ways) places.push_back({{}, way});
    co_return places;
  }
  if (!agent.accept.empty())
    co_return fail("ask", agent.remote, "agents that dial in can't be asked by themselves");
  if (agent.proxy) {
    places.emplace_back();
    co_return places;
  }
  CO_ASSIGN_OR_RETURN(const auto addresses,
                      co_await transport::resolve(loop, agent.address.host, agent.address.port));
  for (const transport::Address& address : transport::interleave_families(addresses))
    places.push_back({address, {}});
  co_return places;
}

Task<void> find_into(Result<FoundAgents>& found, transport::Loop& loop, MirroredAgent agent,
                     ClientOptions options, std::string path) {
  found = co_await find_agents(loop, std::move(agent), options, std::move(path));
}

/// Moves every agent that occurs again out of `all`.
FoundAgents take_repeated(std::vector<Result<FoundAgents>>& all) {
  std::set<std::string> seen;
  FoundAgents repeated;
  for (Result<FoundAgents>& found : all) {
    if (!found) continue;
    for (FoundAgent& each : *found) {
      const std::string& agent = each.client->agent();
      if (!agent.empty() && !seen.insert(agent).second) repeated.push_back(std::move(each));
    }
    std::erase_if(*found, [](const FoundAgent& each) { return each.client == nullptr; });
  }
  return repeated;
}

}  // namespace

Task<Result<FoundAgents>> find_agents(transport::Loop& loop, MirroredAgent agent, ClientOptions options,
                                      std::string path) {
  CO_ASSIGN_OR_RETURN(auto places, co_await places_of(loop, agent));
  Search search(loop, agent, options, std::move(places));
  auto found = co_await search.run(std::move(path));
  co_return found;
}

Task<std::vector<Result<FoundAgents>>> find_all_agents(transport::Loop& loop,
                                                       std::vector<MirroredAgent> agents,
                                                       ClientOptions options, std::string path) {
  std::vector<Result<FoundAgents>> all(agents.size());
  transport::TaskSet finding(loop);
  for (std::size_t i = 0; i < agents.size(); ++i)
    finding.spawn(find_into(all[i], loop, agents[i], options, path));
  co_await finding.idle();
  co_await leave_agents(loop, take_repeated(all));
  co_return all;
}

Task<void> leave_agents(transport::Loop& loop, FoundAgents agents) {
  transport::TaskSet leaving(loop);
  for (const FoundAgent& each : agents) leaving.spawn(each.client->leave());
  co_await leaving.idle();
}

Task<void> leave_all(transport::Loop& loop, std::vector<Result<FoundAgents>> agents) {
  FoundAgents all;
  for (Result<FoundAgents>& found : agents) {
    if (found) std::move(found->begin(), found->end(), std::back_inserter(all));
  }
  co_await leave_agents(loop, std::move(all));
}

}  // namespace farport::router
