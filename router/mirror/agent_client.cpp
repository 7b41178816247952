#include "router/mirror/agent_client.hpp"

#include <cerrno>

#include "router/mirror/proxy_route.hpp"
#include "router/mirror/reach_route.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::Task;

/// How long an agent may take to answer, from its session's begin on.
constexpr transport::Milliseconds kAnswerLimit{20'000};

/// Whether a request has failed since its session has ended, for a reason of its own: the peer just went, did
/// not accept us, or has turned us away.
bool is_end_of_session(const Error& error) {
  return error.cause == Cause() || error.cause.kind() == Cause::Kind::alert || error.cause == EACCES;
}

Error no_answer(const std::string& address) {
  return Error{"ask", address, "it does not answer", {}, ETIMEDOUT};
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
  auto answer = co_await ask_in(session, std::move(path));
  // The session's own end, where that was it, says more than that of the request in it: see ended().
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

Task<Result<std::string>> AgentClient::get(std::string path) {
  const auto ask = [](SessionManager& sessions, std::string what) -> Task<Result<std::string>> {
    std::shared_ptr<AgentSession> session = sessions.session();
    while (session == nullptr) {
      co_await sessions.session_changed().wait();
      session = sessions.session();
    }
    auto body = co_await ask_in(*session, std::move(what));
    co_return body;
  };
  auto body = co_await with_deadline(loop_, ask(sessions_, std::move(path)), kAnswerLimit);
  if (!body) co_return tl::unexpected(no_answer(address_));
  co_return std::move(*body);
}

Task<void> AgentClient::leave() {
  dialling_.reset();
  co_await sessions_.leave();
}

}  // namespace farport::router
