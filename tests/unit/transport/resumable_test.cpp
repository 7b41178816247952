#include <catch2/catch.hpp>

#include "tests/unit/streams.hpp"
#include "transport/http2/session.hpp"
#include "transport/resumable_stream.hpp"

using namespace farport;
using namespace farport::test;
using namespace std::chrono_literals;
using transport::Http2Session;
using transport::Http2Stream;
using transport::ResumableStream;

namespace {

std::uint64_t number(std::string_view text) {
  return std::stoull(std::string(text));
}

/// Two ends of one resumable stream, and the sessions that carry it, one after the other.
struct Ends {
  /// `limit`: of what the answering one keeps.
  explicit Ends(Loop& on, std::uint64_t limit = std::uint64_t{1} << 30)
      : loop(on),
        budget(limit),
        asking(on, ResumableStream::Side::asks, [this] { return unlimited.account_of("asks"); }),
        answering(on, ResumableStream::Side::answers, [this] { return budget.account_of("answers"); }) {}

  /// Opens a session, and a request in it that goes on with the stream.
  void connect() {
    pair = std::make_unique<Pair>(loop,
                                  [this](std::unique_ptr<Http2Stream> request) { take(std::move(request)); });
    const transport::HeaderFields fields{{"received", std::to_string(asking.received())},
                                         {"from", std::to_string(asking.acknowledged())}};
    std::shared_ptr<Http2Stream> request = pair->client->request("POST", "/", "agent", fields, true);
    REQUIRE(asking.resume(std::move(request), asking.acknowledged(), 0));
    asking.accept_answer();
  }
  /// What the side that answers does with such a request.
  void take(std::unique_ptr<Http2Stream> request) {
    answering.detach();
    const std::uint64_t received = number(request->head().field("received"));
    const std::uint64_t skip = answering.received() - number(request->head().field("from"));
    request->respond(200, {}, true);
    REQUIRE(answering.resume(std::move(request), received, skip));
  }
  /// Breaks the connection as a network does: both sides only see that it is broken.
  void cut() {
    pair->client->lower().abort(Error{"use", "the network", "it broke", {}, Cause(ECONNRESET)});
    pair->server->lower().abort(Error{"use", "the network", "it broke", {}, Cause(ECONNRESET)});
  }
  Task<void> break_and_resume() {
    cut();
    while (!asking.waits() && !asking.over()) co_await asking.interrupted().wait();
    if (!asking.over()) connect();
  }

  struct Pair {
    Pair(Loop& loop, Http2Session::RequestHandler handler) : tasks(loop) {
      auto [left, right] = make_pair(loop);
      client = std::make_unique<Http2Session>(std::move(left), Http2Session::Role::client, a_party(loop),
                                              limits());
      server = std::make_unique<Http2Session>(std::move(right), Http2Session::Role::server, a_party(loop),
                                              limits(), std::move(handler));
      tasks.spawn(carry(*client));
      tasks.spawn(carry(*server));
    }
    static transport::Http2Limits limits() {
      transport::Http2Limits limits;
      limits.window = 100'000;
      return limits;
    }
    static Task<void> carry(Http2Session& session) { std::ignore = co_await session.run(); }

    std::unique_ptr<Http2Session> client;
    std::unique_ptr<Http2Session> server;
    transport::TaskSet tasks;
  };

  Loop& loop;
  transport::BufferPool buffers;
  transport::BufferBudget budget;
  transport::BufferBudget unlimited{std::uint64_t{1} << 30};
  ResumableStream asking;
  ResumableStream answering;
  std::unique_ptr<Pair> pair;
};

Task<void> send(transport::BufferPool& buffers, Stream& to, std::string text) {
  const IoStatus status = co_await write_in_buffers(buffers, to, std::move(text));
  CHECK(status == IoStatus::ok);
}

Task<void> receive(Stream& from, std::string& into, bool& done) {
  into = co_await read_all(from);
  done = true;
}

}  // namespace

TEST_CASE("a resumable stream carries bytes like any other") {
  Loop loop;
  Ends ends(loop);
  const std::string text = pattern(1'000'000);
  auto scenario = [&]() -> Task<void> {
    transport::TaskSet tasks(loop);
    std::string forth;
    std::string back;
    bool forth_done = false;
    bool back_done = false;
    ends.connect();
    tasks.spawn(send(ends.buffers, ends.asking, text));
    tasks.spawn(send(ends.buffers, ends.answering, text));
    tasks.spawn(receive(ends.answering, forth, forth_done));
    tasks.spawn(receive(ends.asking, back, back_done));
    co_await tasks.idle();
    CHECK((forth == text));
    CHECK((back == text));
  };
  loop.run(scenario());
}

TEST_CASE("no byte is lost or doubled, however often the connection breaks") {
  Loop loop;
  Ends ends(loop);
  const std::string text = pattern(10'000'000);
  const std::string request = text.substr(0, 3'000'000);
  auto scenario = [&]() -> Task<void> {
    transport::TaskSet tasks(loop);
    std::string forth;
    std::string back;
    bool forth_done = false;
    bool back_done = false;
    ends.connect();
    tasks.spawn(send(ends.buffers, ends.asking, request));
    tasks.spawn(send(ends.buffers, ends.answering, text));
    tasks.spawn(receive(ends.answering, forth, forth_done));
    tasks.spawn(receive(ends.asking, back, back_done));
    int breaks = 0;
    int turns = 1;
    while (!back_done) {
      for (int turn = 0; turn < turns; ++turn) co_await transport::next_turn(loop);
      co_await ends.break_and_resume();
      ++breaks;
      turns = turns * 5 % 23;
    }
    co_await tasks.idle();
    CHECK(breaks > 50);
    CHECK((forth == request));
    CHECK((back == text));
  };
  loop.run(scenario());
}

TEST_CASE("an answer that wants no more of its request ends it, also after a break") {
  Loop loop;
  Ends ends(loop);
  const std::string text = pattern(1'000'000);
  const bool broken = GENERATE(false, true);
  auto scenario = [&]() -> Task<void> {
    transport::TaskSet tasks(loop);
    std::string back;
    bool back_done = false;
    ends.connect();
    const IoStatus asked =
        co_await ends.asking.write(std::as_bytes(std::span("a request that does not end")));
    CHECK(asked == IoStatus::ok);
    ends.answering.stop_reading();
    tasks.spawn(send(ends.buffers, ends.answering, text));
    tasks.spawn(receive(ends.asking, back, back_done));
    if (broken) {
      for (int turn = 0; turn < 10; ++turn) co_await transport::next_turn(loop);
      co_await ends.break_and_resume();
    }
    co_await ends.asking.gone();
    co_await ends.answering.gone();
    co_await tasks.idle();
    CHECK((back == text));
    CHECK_FALSE(ends.answering.waits());
  };
  loop.run(scenario());
}

TEST_CASE("what is being sent stays, though its peer acknowledges it before") {
  Loop loop;
  auto [near, far] = make_pair(loop);
  // One frame is more than the socket takes at once.
  const int least = 1;
  ::setsockopt(near->fd(), SOL_SOCKET, SO_SNDBUF, &least, sizeof least);
  Http2Session session(std::move(near), Http2Session::Role::client, a_party(loop), Ends::Pair::limits());
  transport::BufferBudget budget(std::uint64_t{1} << 30);
  ResumableStream asking(loop, ResumableStream::Side::asks, [&] { return budget.account_of("tests"); });
  const std::string text = pattern(10'000);
  auto scenario = [&]() -> Task<void> {
    transport::TaskSet tasks(loop);
    tasks.spawn(Ends::Pair::carry(session));
    REQUIRE(asking.resume(session.request("POST", "/", "agent", {}, true), 0, 0));
    tasks.spawn([](Stream& to, std::string all) -> Task<void> {
      std::ignore = co_await write_all(to, std::move(all), false);
    }(asking, text));
    co_await transport::sleep(loop, 1ms);
    // SETTINGS, and a WINDOW_UPDATE of stream 1 (RFC 9113 section 6.9) for 10,000 bytes.
    const std::string early("\0\0\0\4\0\0\0\0\0\0\0\4\x8\0\0\0\0\1\0\0\x27\x10", 22);
    const IoStatus told = co_await write_all(*far, early, false);
    CHECK(told == IoStatus::ok);
    co_await transport::sleep(loop, 1ms);
    std::string all;
    std::string part(5000, '\0');
    while (all.find(text) == std::string::npos) {
      const Io io = co_await far->read(std::as_writable_bytes(std::span(part)));
      REQUIRE(io.status == IoStatus::ok);
      all.append(part, 0, io.bytes);
    }
    co_await transport::sleep(loop, 0ms);
    CHECK(asking.acknowledged() == text.size());
    session.abort(Error{"end", "the session", "that was it"});
    far.reset();
    co_await tasks.idle();
  };
  loop.run(scenario());
}

TEST_CASE("what may have to be sent again is counted, and given up where it is too much") {
  Loop loop;
  const std::uint64_t limit = GENERATE(50'000, 1'000'000);
  Ends ends(loop, limit);
  transport::BufferBudget& budget = ends.budget;
  const std::string text = pattern(1'000'000);
  const bool fits = limit > text.size() / 2;
  auto scenario = [&]() -> Task<void> {
    transport::TaskSet tasks(loop);
    std::string back;
    bool back_done = false;
    ends.connect();
    tasks.spawn([](Ends& all, const std::string& sent, bool all_is_taken) -> Task<void> {
      const IoStatus status = co_await write_in_buffers(all.buffers, all.answering, sent);
      CHECK((status == IoStatus::ok) == all_is_taken);
    }(ends, text, fits));
    for (int turn = 0; turn < 200; ++turn) co_await transport::next_turn(loop);
    CHECK(ends.answering.over() != fits);
    CHECK((budget.bytes() > 64'000) == fits);
    CHECK(budget.given_up() == (fits ? 0 : 1));
    tasks.spawn(receive(ends.asking, back, back_done));
    co_await tasks.idle();
    CHECK((back == text) == fits);
    for (int turn = 0; turn < 20; ++turn) co_await transport::next_turn(loop);
    CHECK(budget.bytes() < 100'000);
  };
  loop.run(scenario());
}
