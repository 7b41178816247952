#include "router/mirror/ask_agent.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/authority.hpp"
#include "router/mirror/agent_session.hpp"
#include "router/mirror/answers.hpp"
#include "router/mirror/proxy_route.hpp"
#include "router/mirror/reach_route.hpp"
#include "router/mirror/tcp_route.hpp"
#include "transport/task_set.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Milliseconds;
using transport::Task;

/// How long an agent may take to answer, from its connection on.
constexpr Milliseconds kAnswerLimit{20'000};

/// Who has answered, and what.
struct Asked {
  std::string instance;
  std::string agent;
  Result<std::string> body;
};

struct AskedAddress : Asked {
  transport::Address address;
  bool connected = false;
  bool over = false;
};

struct AskedWay : Asked {
  std::shared_ptr<const Reach> way;
};

struct Question {
  Question(transport::Loop& on, SSL_CTX* with) : loop(on), context(with), changed(on) {}

  transport::Loop& loop;
  SSL_CTX* context;
  std::string server_name;
  std::string path;
  std::vector<AskedAddress> asked{};
  std::optional<transport::Deadline> others{};  ///< Since one has answered.
  transport::Event changed;

  [[nodiscard]] bool is_over() const {
    const bool waited = others && others->expired();
    return std::all_of(asked.begin(), asked.end(),
                       [&](const AskedAddress& each) { return each.over || (waited && !each.connected); });
  }
};

/// Whether a request has failed since its session has ended, for a reason of its own: the peer just went, did
/// not accept us, or has turned us away.
bool is_end_of_session(const Error& error) {
  return error.cause == Cause() || error.cause.kind() == Cause::Kind::alert || error.cause == EACCES;
}

Task<Result<std::string>> ask_in(AgentSession& session, std::string path, Asked& asked) {
  auto answer = co_await session.ask("GET", std::move(path));
  if (!answer) co_return tl::unexpected(answer.error());
  session.learn_instance((*answer)->head());
  asked.instance = session.instance();
  asked.agent = session.agent();
  auto body = co_await read_answer(**answer);
  co_return body;
}

/// Opens a session on the connection for one question.
Task<Result<std::string>> ask_on(AgentConnection connection, std::string path, Asked& asked) {
  AgentSession session(std::move(connection), transport::Http2Limits{});
  transport::Loop& loop = session.loop();
  const transport::Deadline limit(loop, kAnswerLimit, [&session] {
    session.abort(Error{"ask", session.address(), "it does not answer", {}, ETIMEDOUT});
  });
  std::optional<Error> ended;
  transport::TaskSet tasks(loop);
  tasks.spawn([](AgentSession& carried, std::optional<Error>& why) -> Task<void> {
    why = co_await carried.run();
  }(session, ended));
  auto body = co_await ask_in(session, std::move(path), asked);
  if (body || !is_end_of_session(body.error())) {
    session.leave();
    co_await tasks.idle();
    co_return body;
  }
  // The session's own end, where that was it, says more than that of the request in it.
  session.abort(body.error());
  co_await tasks.idle();
  co_return tl::unexpected(ended ? *ended : body.error());
}

Task<Result<std::string>> ask_one(Question& question, AskedAddress& asked) {
  auto connection = co_await transport::connect_tcp(question.loop, asked.address, kDialLimit);
  if (!connection) co_return tl::unexpected(connection.error());
  asked.connected = true;
  transport::Connected connected{std::move(*connection), asked.address};
  auto agreed = co_await shake_hands(std::move(connected), question.server_name, question.context);
  if (!agreed) co_return tl::unexpected(agreed.error());
  auto body = co_await ask_on(std::move(*agreed), question.path, asked);
  co_return body;
}

Task<void> ask_address(Question& question, AskedAddress& asked) {
  asked.body = co_await ask_one(question, asked);
  asked.over = true;
  if (asked.body && !question.others) {
    question.others.emplace(question.loop, kOtherAddresses, [&question] { question.changed.set(); });
  }
  question.changed.set();
}

AgentAnswer answer_of(Asked& asked, std::string address) {
  AgentAnswer answer;
  answer.address = std::move(address);
  answer.body = std::move(*asked.body);
  answer.agent = std::move(asked.agent);
  return answer;
}

/// One answer for each agent; those without an instance are taken for different ones.
std::vector<AgentAnswer> answers_to(Question& question) {
  std::vector<AgentAnswer> answers;
  std::vector<std::string> instances;
  for (AskedAddress& asked : question.asked) {
    if (!asked.over || !asked.body) continue;
    const auto known = std::find(instances.begin(), instances.end(), asked.instance);
    if (known != instances.end() && !asked.instance.empty()) {
      answers[static_cast<std::size_t>(known - instances.begin())].addresses.push_back(asked.address);
      continue;
    }
    instances.push_back(asked.instance);
    answers.push_back(answer_of(asked, asked.address.text()));
    answers.back().addresses.push_back(asked.address);
  }
  return answers;
}

Task<void> ask_way(transport::Loop& loop, AskedWay& asked, std::string path) {
  ReachRoute route(loop, make_silent_log(), asked.way);
  auto connection = co_await route.open();
  if (!connection) {
    asked.body = tl::unexpected(connection.error());
    co_return;
  }
  asked.body = co_await ask_on(std::move(*connection), std::move(path), asked);
  // Of a connection that has broken, only its own name is known there.
  if (!asked.body && asked.instance.empty()) asked.body.error().on = asked.way->text();
}

Task<Result<std::vector<AgentAnswer>>> ask_reached(transport::Loop& loop,
                                                   std::shared_ptr<const ReachTarget> target,
                                                   std::string path) {
  const auto ways = co_await target->find(loop);
  if (!ways) co_return tl::unexpected(ways.error());
  if (ways->empty()) co_return fail("reach", target->text(), "nothing runs there");
  std::vector<AskedWay> asked;
  for (const std::shared_ptr<const Reach>& way : *ways) asked.emplace_back().way = way;
  transport::TaskSet tasks(loop);
  for (AskedWay& each : asked) tasks.spawn(ask_way(loop, each, path));
  co_await tasks.idle();
  std::vector<AgentAnswer> answers;
  for (AskedWay& each : asked) {
    if (!each.body) continue;
    answers.push_back(answer_of(each, each.way->text()));
    answers.back().reach = std::move(each.way);
  }
  if (answers.empty()) co_return tl::unexpected(asked.front().body.error());
  co_return answers;
}

/// Where the addresses are the proxy's business, one agent answers.
Task<Result<std::vector<AgentAnswer>>> ask_proxied(transport::Loop& loop, MirroredAgent agent,
                                                   std::string path) {
  auto connection = co_await open_through(loop, *agent.proxy, agent.address, agent.credentials->context());
  if (!connection) co_return tl::unexpected(connection.error());
  Asked asked;
  asked.body = co_await ask_on(std::move(*connection), std::move(path), asked);
  if (!asked.body) co_return tl::unexpected(asked.body.error());
  std::vector<AgentAnswer> answers;
  answers.push_back(answer_of(asked, agent.address.text()));
  co_return answers;
}

}  // namespace

std::string AgentAddress::text() const {
  return authority(host, port);
}

Task<Result<std::vector<AgentAnswer>>> ask_agent(transport::Loop& loop, MirroredAgent agent,
                                                 std::string path) {
  if (agent.reach != nullptr) {
    auto reached = co_await ask_reached(loop, agent.reach, std::move(path));
    co_return reached;
  }
  if (!agent.accept.empty())
    co_return fail("ask", agent.remote, "agents that dial in can't be asked by themselves");
  if (agent.proxy) {
    auto proxied = co_await ask_proxied(loop, std::move(agent), std::move(path));
    co_return proxied;
  }
  const auto addresses = co_await transport::resolve(loop, agent.address.host, agent.address.port);
  if (!addresses) co_return tl::unexpected(addresses.error());
  Question question(loop, agent.credentials->context());
  question.server_name = agent.address.verified_name();
  question.path = std::move(path);
  for (const transport::Address& address : transport::by_turns(*addresses)) {
    question.asked.emplace_back().address = address;
  }
  transport::TaskSet asking(loop);
  for (AskedAddress& asked : question.asked) asking.spawn(ask_address(question, asked));
  while (!question.is_over()) co_await question.changed.wait();
  std::vector<AgentAnswer> answers = answers_to(question);
  if (!answers.empty()) co_return answers;
  co_return tl::unexpected(question.asked.front().body.error());
}

}  // namespace farport::router
