#include "router/mirror/ask_agent.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "router/mirror/agent_session.hpp"
#include "router/mirror/answers.hpp"
#include "router/mirror/reach_route.hpp"
#include "router/mirror/tcp_route.hpp"
#include "router/wire/resumption_fields.hpp"
#include "transport/task_set.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Milliseconds;
using transport::Task;

/// How long an agent may take to answer, from its connection on.
constexpr Milliseconds kAnswerLimit{20'000};

/// One address, and what has become of it.
struct Asked {
  transport::Address address;
  bool connected = false;
  bool over = false;
  std::string instance;
  Result<std::string> body;
};

struct Question {
  Question(transport::Loop& on, SSL_CTX* with) : loop(on), context(with), changed(on) {}

  transport::Loop& loop;
  SSL_CTX* context;
  std::string server_name;
  std::string path;
  std::vector<Asked> asked{};
  std::optional<transport::Deadline> others{};  ///< Since one has answered.
  transport::Event changed;

  [[nodiscard]] bool is_over() const {
    const bool waited = others && others->expired();
    return std::all_of(asked.begin(), asked.end(),
                       [&](const Asked& each) { return each.over || (waited && !each.connected); });
  }
};

Task<Result<std::string>> ask_in(AgentSession& session, std::string path, std::string& instance) {
  auto answer = co_await session.ask("GET", std::move(path));
  if (!answer) co_return tl::unexpected(answer.error());
  instance = (*answer)->head().field(resumption_field::kInstance);
  auto body = co_await read_answer(**answer);
  co_return body;
}

/// Opens a session on the connection for one question.
Task<Result<std::string>> ask_on(AgentConnection connection, std::string path, std::string& instance) {
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
  auto body = co_await ask_in(session, std::move(path), instance);
  if (body || body.error().cause != Cause()) {
    session.leave();
    co_await tasks.idle();
    co_return body;
  }
  // The session's own end, where that was it, says more than that of the request in it.
  session.abort(body.error());
  co_await tasks.idle();
  co_return tl::unexpected(ended ? *ended : body.error());
}

Task<Result<std::string>> ask_one(Question& question, Asked& asked) {
  auto connection = co_await transport::connect_tcp(question.loop, asked.address, kDialLimit);
  if (!connection) co_return tl::unexpected(connection.error());
  asked.connected = true;
  transport::Connected connected{std::move(*connection), asked.address};
  auto agreed = co_await shake_hands(std::move(connected), question.server_name, question.context);
  if (!agreed) co_return tl::unexpected(agreed.error());
  auto body = co_await ask_on(std::move(*agreed), question.path, asked.instance);
  co_return body;
}

Task<void> ask_address(Question& question, Asked& asked) {
  asked.body = co_await ask_one(question, asked);
  asked.over = true;
  if (asked.body && !question.others) {
    question.others.emplace(question.loop, kOtherAddresses, [&question] { question.changed.set(); });
  }
  question.changed.set();
}

/// One answer for each agent; those without an instance are taken for different ones.
std::vector<AgentAnswer> answers_to(Question& question) {
  std::vector<AgentAnswer> answers;
  std::vector<std::string> instances;
  for (Asked& asked : question.asked) {
    if (!asked.over || !asked.body) continue;
    const auto known = std::find(instances.begin(), instances.end(), asked.instance);
    if (known != instances.end() && !asked.instance.empty()) {
      answers[static_cast<std::size_t>(known - instances.begin())].addresses.push_back(asked.address);
      continue;
    }
    instances.push_back(asked.instance);
    AgentAnswer& answer = answers.emplace_back();
    answer.address = asked.address.text();
    answer.addresses.push_back(asked.address);
    answer.body = std::move(*asked.body);
  }
  return answers;
}

Task<Result<std::vector<AgentAnswer>>> ask_reached(transport::Loop& loop, std::shared_ptr<const Reach> reach,
                                                   std::string path) {
  ReachRoute route(loop, make_silent_log(), reach);
  auto connection = co_await route.open();
  if (!connection) co_return tl::unexpected(connection.error());
  std::string instance;
  auto body = co_await ask_on(std::move(*connection), std::move(path), instance);
  if (!body) {
    Error why = body.error();
    // Of a connection that has broken, only its own name is known there.
    if (instance.empty()) why.on = reach->text();
    co_return tl::unexpected(std::move(why));
  }
  std::vector<AgentAnswer> answers(1);
  answers.front().address = reach->text();
  answers.front().body = std::move(*body);
  co_return answers;
}

}  // namespace

std::string AgentAddress::text() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Task<Result<std::vector<AgentAnswer>>> ask_agent(transport::Loop& loop, MirroredAgent agent,
                                                 std::string path) {
  if (agent.reach != nullptr) {
    auto reached = co_await ask_reached(loop, agent.reach, std::move(path));
    co_return reached;
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
  for (Asked& asked : question.asked) asking.spawn(ask_address(question, asked));
  while (!question.is_over()) co_await question.changed.wait();
  std::vector<AgentAnswer> answers = answers_to(question);
  if (!answers.empty()) co_return answers;
  co_return tl::unexpected(question.asked.front().body.error());
}

}  // namespace farport::router
