// Fuzzes the resume handshake: an agent's table of resumable answers, asked by mirrors that do everything in
// any order: begin and resume with right, wrong and other mirrors' tokens and places, write, end, forget,
// break their session and dial again under one of two names.
//
// An input is a list of steps, a byte each, with the bytes that they take.
#include <algorithm>
#include <deque>
#include <map>
#include <string>

#include "router/agent/connections/resumption_table.hpp"
#include "router/agent/gate/limits.hpp"
#include "router/wire/http_status.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/unit/streams.hpp"
#include "transport/http2/session.hpp"

using namespace farport;
using namespace farport::router;
using namespace farport::transport;
using farport::fuzz::require;

namespace {

constexpr std::size_t kMaxConnections = 16;
constexpr std::size_t kAnswerUnit = 700;
constexpr std::uint32_t kWindow = 20'000;
constexpr std::uint64_t kBudget = 150'000;
constexpr Milliseconds kGrace{3'600'000};
constexpr int kCallers = 2;

/// What the bytes of an answer are, by their place.
std::byte answer_at(std::uint64_t place) {
  return static_cast<std::byte>(place * 7 + (place >> 8));
}

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  unsigned next() {
    if (rest_.empty()) return 0;
    const unsigned byte = rest_.front();
    rest_ = rest_.subspan(1);
    return byte;
  }
  /// Visible characters alone: nghttp2 sends no others.
  std::string text() {
    std::string text;
    for (unsigned size = next() % 40; size > 0; --size) text += static_cast<char>('!' + next() % 94);
    return text;
  }

 private:
  std::span<const std::uint8_t> rest_;
};

/// A diagnostic connection as its mirror sees it.
struct Connection {
  std::string token;
  std::shared_ptr<Http2Stream> carrier;
  std::uint64_t received = 0;
  std::uint64_t written = 0;
};

class Agent {
 public:
  explicit Agent(Loop& loop) : table(loop, make_silent_log(), kGrace, budget) {}

  void take(std::unique_ptr<Http2Stream> request, int by) {
    const std::string path = request->head().path;
    auth::Identity identity;
    identity.common_name = "mirror " + std::to_string(by);
    const Caller caller{"address", std::move(identity), {}};
    std::string next(request->head().field(resumption_field::kToken));
    if (path.starts_with("/begin/")) {
      auto answer = table.begin(request, caller);
      if (!answer) return request->respond(answer.error().status, {}, false);
      owners_[next] = by;
      table.spawn(serve(std::move(*answer), kAnswerUnit * path.size()));
    } else if (path.starts_with("/resume/")) {
      const std::string token = path.substr(8);
      const auto refused = table.resume(request, token, caller);
      if (refused) return request->respond(refused->status, {}, false);
      require(owners_.contains(token) && owners_[token] == by, "nobody resumes what is another's");
      owners_[next] = by;
    } else {
      const bool ended = table.end(path.substr(8), caller);
      request->respond(ended ? http_status::kOk : http_status::kNotFound, {}, false);
    }
  }

  // Before the table, whose answers count in it: enough for some of them, not for all.
  BufferBudget budget{kBudget};
  ResumptionTable table;

 private:
  static Task<void> serve(std::unique_ptr<ResumableResponse> answer, std::size_t size) {
    answer->send_head(http_status::kOk, {}, true);
    Task<void> reading = answer->stream().discard();
    reading.start();
    std::vector<std::byte> body(size);
    for (std::size_t at = 0; at < size; ++at) body[at] = answer_at(at);
    const IoStatus written = co_await answer->stream().write_last(std::span<const std::byte>(body));
    if (written == IoStatus::ok) co_await answer->delivered();
  }

  std::map<std::string, int> owners_;  ///< By token, of all that there ever were.
};

/// Both ends of a session.
class Session {
 public:
  Session(Loop& loop, Agent& agent, int caller) : tasks_(loop) {
    test::StreamPair ends = test::make_pair(loop);
    Http2Limits limits;
    limits.window = kWindow;
    limits.ping_interval = Milliseconds{0};
    mirror = std::make_unique<Http2Session>(std::move(ends.first), Http2Session::Role::client,
                                            test::a_party(loop), limits);
    agent_ = std::make_unique<Http2Session>(
        std::move(ends.second), Http2Session::Role::server, test::a_party(loop), limits,
        [&agent, caller](auto request) { agent.take(std::move(request), caller); });
    tasks_.spawn(carry(*mirror));
    tasks_.spawn(carry(*agent_));
  }
  void cut(bool mirror_first) {
    const Error why{"use", "the network", "it broke", {}, Cause(ECONNRESET)};
    (mirror_first ? mirror : agent_)->lower().abort(why);
    (mirror_first ? agent_ : mirror)->lower().abort(why);
  }
  Task<void> over() { return tasks_.idle(); }

  std::unique_ptr<Http2Session> mirror;

 private:
  static Task<void> carry(Http2Session& session) { std::ignore = co_await session.run(); }

  std::unique_ptr<Http2Session> agent_;
  TaskSet tasks_;
};

class Mirrors {
 public:
  Mirrors(Loop& loop, Agent& agent) : loop_(loop), agent_(agent), reading_(loop) {
    session_ = std::make_unique<Session>(loop, agent, 0);
  }

  Task<void> follow(Input input) {
    while (!input.empty()) {
      co_await step(input);
      co_await next_turn(loop_);
    }
    co_await dial(input);
    for (Connection& connection : connections_) connection.carrier.reset();
    co_await reading_.idle();
  }

 private:
  Task<void> step(Input& input) {
    switch (input.next() % 7) {
      case 0:
        begin(input);
        break;
      case 1:
        resume(input);
        break;
      case 2:
        co_await write(input, false);
        break;
      case 3:
        co_await write(input, true);
        break;
      case 4:
        forget(input);
        break;
      case 5:
        co_await dial(input);
        break;
      default:
        for (unsigned turns = input.next() % 16; turns > 0; --turns) co_await next_turn(loop_);
    }
  }

  void begin(Input& input) {
    if (connections_.size() == kMaxConnections) return;
    std::string token = input.next() % 4 == 0 ? input.text() : fresh_token();
    const std::string path = "/begin/" + std::string(input.next(), 'x');
    const HeaderFields fields{{std::string(resumption_field::kToken), token}};
    std::shared_ptr<Http2Stream> carrier = session_->mirror->request("POST", path, "agent", fields, true);
    if (carrier == nullptr) return;
    Connection& connection = connections_.emplace_back(Connection{token, carrier});
    reading_.spawn(read(connection, std::move(carrier), std::move(token), 0));
  }

  void resume(Input& input) {
    Connection* connection = pick(input);
    if (connection == nullptr) return;
    const unsigned ways = input.next();
    const std::string token = (ways & 1) != 0 ? input.text() : connection->token;
    std::string next = (ways & 2) != 0 ? input.text() : fresh_token();
    const std::uint64_t received = (ways & 4) != 0 ? input.next() * input.next() : connection->received;
    const std::uint64_t from = (ways & 8) != 0 ? input.next() * input.next() : connection->written;
    HeaderFields fields{{std::string(resumption_field::kToken), next},
                        {std::string(resumption_field::kReceived), std::to_string(received)}};
    fields.emplace_back(resumption_field::kFrom, (ways & 16) != 0 ? input.text() : std::to_string(from));
    if ((ways & 32) != 0) fields.emplace_back(resumption_field::kInstance, agent_.table.instance());
    if ((ways & 64) != 0) fields.emplace_back(resumption_field::kInstance, input.text());
    std::shared_ptr<Http2Stream> carrier =
        session_->mirror->request("POST", "/resume/" + token, "agent", fields, true);
    if (carrier == nullptr) return;
    connection->carrier = carrier;
    reading_.spawn(read(*connection, std::move(carrier), std::move(next), received));
  }

  Task<void> write(Input& input, bool last) {
    Connection* connection = pick(input);
    if (connection == nullptr || connection->carrier == nullptr) co_return;
    const std::vector<std::byte> bytes(input.next());
    TaskSet writing(loop_);
    writing.spawn([](Stream& to, std::span<const std::byte> body, bool end) -> Task<void> {
      if (end) {
        std::ignore = co_await to.write_last(body);
      } else {
        std::ignore = co_await to.write(body);
      }
    }(*connection->carrier, bytes, last));
    co_await next_turn(loop_);
    connection->written += bytes.size();
  }

  void forget(Input& input) {
    const Connection* connection = pick(input);
    const std::string token =
        connection == nullptr || input.next() % 4 == 0 ? input.text() : connection->token;
    std::shared_ptr<Http2Stream> answer =
        session_->mirror->request("DELETE", "/forget/" + token, "agent", {}, false);
    if (answer != nullptr) reading_.spawn(ignore(std::move(answer)));
  }

  Task<void> dial(Input& input) {
    const unsigned ways = input.next();
    session_->cut((ways & 1) != 0);
    co_await session_->over();
    session_ = std::make_unique<Session>(loop_, agent_, static_cast<int>(ways >> 1) % kCallers);
  }

  /// Reads an answer, which goes on from `place`.
  static Task<void> read(Connection& connection, std::shared_ptr<Http2Stream> carrier, std::string token,
                         std::uint64_t place) {
    const IoStatus head = co_await carrier->head_received();
    if (head != IoStatus::ok || carrier->head().status != http_status::kOk) co_return;
    connection.token = std::move(token);
    std::array<std::byte, 500> part{};
    for (;;) {
      const Io io = co_await carrier->read(part);
      if (io.status != IoStatus::ok) co_return;
      for (std::size_t at = 0; at < io.bytes; ++at) {
        require(part[at] == answer_at(place + at), "an answer goes on where it is asked to");
      }
      place += io.bytes;
      connection.received = place;
    }
  }
  static Task<void> ignore(std::shared_ptr<Http2Stream> answer) {
    std::ignore = co_await answer->head_received();
  }

  Connection* pick(Input& input) {
    const unsigned number = input.next();
    return connections_.empty() ? nullptr : &connections_[number % connections_.size()];
  }
  std::string fresh_token() {
    std::string digits = std::to_string(++tokens_);
    return std::string(32 - digits.size(), '0') + digits;
  }

  Loop& loop_;
  Agent& agent_;
  std::unique_ptr<Session> session_;
  std::deque<Connection> connections_;
  int tokens_ = 0;
  TaskSet reading_;
};

Task<void> run(Loop& loop, Input input) {
  Agent agent(loop);
  {
    Mirrors mirrors(loop, agent);
    co_await mirrors.follow(input);
  }
  agent.table.end_waiting(Error{"continue for", "a mirror", "all of them are gone", {}, Cause(ECANCELED)});
  co_await agent.table.idle();
  require(agent.table.size() == 0, "nothing is left of what is over");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Loop loop;
  loop.run(run(loop, Input(data, size)));
  return 0;
}
