#include "transport/http2/session.hpp"

#include <algorithm>
#include <cerrno>

#include <catch2/catch.hpp>

#include "tests/unit/streams.hpp"

using namespace farport;
using namespace farport::test;
using namespace std::chrono_literals;
using transport::HeaderFields;
using transport::Http2Session;
using transport::Http2Stream;

namespace {

using Handler = std::function<Task<void>(std::unique_ptr<Http2Stream>)>;

/// A client's and a server's session, joined by a socket pair.
struct Sessions {
  Sessions(Loop& on, Handler handler, transport::Http2Limits limits = {}) : loop(on), tasks(on) {
    auto [left, right] = make_pair(loop);
    client =
        std::make_unique<Http2Session>(std::move(left), Http2Session::Role::client, a_party(loop), limits);
    server = std::make_unique<Http2Session>(
        std::move(right), Http2Session::Role::server, a_party(loop), limits,
        [this, handler](std::unique_ptr<Http2Stream> request) { tasks.spawn(handler(std::move(request))); });
    tasks.spawn(carry(*client));
    tasks.spawn(carry(*server));
  }
  static Task<void> carry(Http2Session& session) { std::ignore = co_await session.run(); }

  std::unique_ptr<Http2Stream> get(std::string_view path) {
    return client->request("GET", path, "agent", {}, false);
  }
  std::unique_ptr<Http2Stream> post(std::string_view path) {
    return client->request("POST", path, "agent", {}, true);
  }

  Loop& loop;
  std::unique_ptr<Http2Session> client;
  std::unique_ptr<Http2Session> server;
  transport::TaskSet tasks;
};

Task<void> hello(std::unique_ptr<Http2Stream> request) {
  const std::string text = request->head().method + " " + request->head().path;
  co_await respond(*request, 200, text);
}

Task<void> echo(std::unique_ptr<Http2Stream> request) {
  request->respond(200, {}, true);
  std::vector<std::byte> buffer(transport::kHeadroom + 60'000);
  for (;;) {
    const Io io = co_await request->read(std::span(buffer).subspan(transport::kHeadroom));
    if (io.status != IoStatus::ok) break;
    const transport::Chunk chunk{buffer.data() + transport::kHeadroom, io.bytes, true};
    const IoStatus written = co_await request->write(chunk);
    if (written != IoStatus::ok) co_return;
  }
  std::ignore = co_await request->finish();
}

}  // namespace

TEST_CASE("a request is answered with a head and a body") {
  Loop loop;
  Sessions sessions(loop, hello);
  auto scenario = [&]() -> Task<void> {
    const auto answer = sessions.get("/v1/agent");
    const IoStatus head = co_await answer->head_received();
    CHECK(head == IoStatus::ok);
    CHECK(answer->head().status == 200);
    CHECK(answer->head().field("content-type") == "text/plain");
    const std::string body = co_await read_all(*answer);
    CHECK(body == "GET /v1/agent");
  };
  loop.run(scenario());
}

TEST_CASE("both directions of a stream carry bytes at once, in order") {
  Loop loop;
  Sessions sessions(loop, echo);
  const std::string sent = pattern(5'000'000);
  auto scenario = [&]() -> Task<void> {
    const auto stream = sessions.post("/echo");
    transport::TaskSet tasks(loop);
    tasks.spawn([](Stream& to, std::string text) -> Task<void> {
      const IoStatus status = co_await write_all(to, std::move(text), true);
      CHECK(status == IoStatus::ok);
    }(*stream, sent));
    const std::string got = co_await read_all(*stream);
    CHECK((got == sent));
    co_await tasks.idle();
  };
  loop.run(scenario());
}

TEST_CASE("a stalled stream holds up no other") {
  Loop loop;
  Sessions sessions(loop, echo);
  auto scenario = [&]() -> Task<void> {
    const auto stalled = sessions.post("/echo");
    transport::TaskSet tasks(loop);
    tasks.spawn([](Stream& to) -> Task<void> {
      std::ignore = co_await write_all(to, pattern(20'000'000), true);
    }(*stalled));
    co_await transport::sleep(loop, 50ms);
    const auto quick = sessions.post("/echo");
    const IoStatus sent = co_await write_all(*quick, "ping", true);
    CHECK(sent == IoStatus::ok);
    const std::string got = co_await read_all(*quick);
    CHECK(got == "ping");
    tasks.clear();
  };
  loop.run(scenario());
}

TEST_CASE("many streams share a session") {
  Loop loop;
  Sessions sessions(loop, echo);
  int right = 0;
  auto scenario = [&]() -> Task<void> {
    transport::TaskSet tasks(loop);
    for (int i = 0; i < 200; ++i) {
      tasks.spawn([](Sessions& all, int number, int& count) -> Task<void> {
        const auto stream = all.post("/echo");
        const std::string text = pattern(static_cast<std::size_t>(number) * 977 + 1);
        transport::TaskSet writing(all.loop);
        writing.spawn([](Stream& to, std::string bytes) -> Task<void> {
          std::ignore = co_await write_all(to, std::move(bytes), true);
        }(*stream, text));
        const std::string got = co_await read_all(*stream);
        count += got == text ? 1 : 0;
        co_await writing.idle();
      }(sessions, i, right));
    }
    co_await tasks.idle();
  };
  loop.run(scenario());
  CHECK(right == 200);
}

TEST_CASE("a stream that its user drops is reset, and the other side learns that it is gone") {
  Loop loop;
  bool gone = false;
  Sessions sessions(loop, [&](std::unique_ptr<Http2Stream> request) -> Task<void> {
    request->respond(200, {}, true);
    co_await request->gone();
    gone = true;
    IoStatus last = IoStatus::ok;
    const std::string rest = co_await read_all(*request, &last);
    CHECK(last == IoStatus::failed);
  });
  auto scenario = [&]() -> Task<void> {
    auto stream = sessions.post("/watch");
    const IoStatus head = co_await stream->head_received();
    CHECK(head == IoStatus::ok);
    stream.reset();
    for (int i = 0; i < 100 && !gone; ++i) co_await transport::sleep(loop, 5ms);
    // Dropped before it was even sent: nothing happens.
    sessions.post("/never").reset();
    const auto next = sessions.get("/next");
    const IoStatus alive = co_await next->head_received();
    CHECK(alive == IoStatus::ok);
  };
  loop.run(scenario());
  CHECK(gone);
}

TEST_CASE("what came before a reset can still be read") {
  Loop loop;
  std::string got;
  bool done = false;
  Sessions sessions(loop, [&](std::unique_ptr<Http2Stream> request) -> Task<void> {
    co_await request->gone();
    got = co_await read_all(*request);
    done = true;
  });
  auto scenario = [&]() -> Task<void> {
    {
      const auto stream = sessions.post("/stop");
      const IoStatus sent = co_await write_all(*stream, "stop tracing", true);
      CHECK(sent == IoStatus::ok);
    }
    for (int i = 0; i < 100 && !done; ++i) co_await transport::sleep(loop, 5ms);
  };
  loop.run(scenario());
  CHECK(got == "stop tracing");
}

TEST_CASE("a session over its budget ends at once, and a peer that reads gets GOAWAY") {
  Loop loop;
  const bool reads = GENERATE(true, false);
  // Less than a session takes by itself.
  transport::Parties poor(loop, std::chrono::seconds(1), 1024);
  auto [left, right] = make_pair(loop);
  Http2Session client(std::move(left), Http2Session::Role::client, a_party(loop), {});
  Http2Session server(std::move(right), Http2Session::Role::server, poor.party("tests"), {});
  auto scenario = [&]() -> Task<void> {
    transport::TaskSet tasks(loop);
    if (reads) tasks.spawn(Sessions::carry(client));
    const Result<void> ended = co_await server.run();
    REQUIRE_FALSE(ended);
    CHECK(ended.error().cause == ENOBUFS);
    co_await tasks.idle();
    CHECK(client.peer_left() == reads);
  };
  loop.run(scenario());
}

TEST_CASE("an end that is not confirmed is lost with a session that is ended for its memory") {
  struct Flag final : transport::Wake {
    void wake() override { set = true; }
    bool set = false;
  };
  Loop loop;
  const int cause = GENERATE(ENOBUFS, 0);
  const bool asked_before = GENERATE(true, false);
  Http2Session* server = nullptr;
  Flag known;
  bool lost = false;
  bool confirmed = false;
  Sessions sessions(loop, [&](std::unique_ptr<Http2Stream> request) -> Task<void> {
    co_await respond(*request, 200, "done");
    co_await request->gone();
    if (asked_before) request->confirm_end(known);
    server->abort(Error{"continue", "the session", "the test broke it", {}, Cause(cause)});
    if (!asked_before) request->confirm_end(known);
    lost = request->lost();
    confirmed = request->end_confirmed();
  });
  server = sessions.server.get();
  auto scenario = [&]() -> Task<void> {
    const auto stream = sessions.get("/hello");
    for (int i = 0; i < 100 && !known.set; ++i) co_await transport::sleep(loop, 5ms);
  };
  loop.run(scenario());
  CHECK(known.set);
  CHECK(lost == (cause == ENOBUFS));
  CHECK(confirmed == (cause != ENOBUFS));
}

TEST_CASE("streams fail when their session is broken off") {
  Loop loop;
  Sessions sessions(loop, echo);
  auto scenario = [&]() -> Task<void> {
    const auto stream = sessions.post("/echo");
    sessions.client->abort(Error{"keep", "the session", "the test broke it"});
    IoStatus last = IoStatus::ok;
    const std::string nothing = co_await read_all(*stream, &last);
    CHECK(last == IoStatus::failed);
    CHECK(stream->error().why == "the test broke it");
    const IoStatus written = co_await write_all(*stream, "late", false);
    CHECK(written == IoStatus::failed);
  };
  loop.run(scenario());
}

TEST_CASE("garbage instead of HTTP/2 ends the session with a reason") {
  Loop loop;
  auto [left, right] = make_pair(loop);
  Http2Session server(std::move(right), Http2Session::Role::server, a_party(loop), {},
                      [](std::unique_ptr<Http2Stream>) {});
  Result<void> ended;
  auto scenario = [&]() -> Task<void> {
    transport::TaskSet tasks(loop);
    tasks.spawn([](Http2Session& session, Result<void>& result) -> Task<void> {
      result = co_await session.run();
    }(server, ended));
    std::ignore = co_await write_all(*left, pattern(50'000), false);
    co_await tasks.idle();
  };
  loop.run(scenario());
  REQUIRE_FALSE(ended.has_value());
  CHECK_FALSE(ended.error().why.empty());
}

TEST_CASE("a head that is too large is told to be, and the session goes on") {
  Loop loop;
  Sessions sessions(loop, [](std::unique_ptr<Http2Stream> request) -> Task<void> {
    const int status = request->head().too_large ? 431 : 200;
    co_await respond(*request, status, "");
  });
  auto scenario = [&]() -> Task<void> {
    const auto large = sessions.client->request("GET", "/" + std::string(20'000, 'x'), "agent", {}, false);
    const IoStatus head = co_await large->head_received();
    CHECK(head == IoStatus::ok);
    CHECK(large->head().status == 431);
    const auto next = sessions.get("/next");
    const IoStatus alive = co_await next->head_received();
    CHECK(alive == IoStatus::ok);
    CHECK(next->head().status == 200);
  };
  loop.run(scenario());
}

TEST_CASE("an answer whose status is of no class fails, rather than to be waited for") {
  Loop loop;
  auto [left, right] = make_pair(loop);
  Http2Session client(std::move(left), Http2Session::Role::client, a_party(loop), {});
  // Empty SETTINGS, and HEADERS that end stream 1, with the one field ":status: 099" (RFC 7541
  // section 6.2.2).
  const std::string peer(
      "\0\0\0\x4\0\0\0\0\0\0\0\xd\x1\x5\0\0\0\x1\0\x7:status\x3"
      "099",
      31);
  auto scenario = [&]() -> Task<void> {
    transport::TaskSet tasks(loop);
    tasks.spawn(Sessions::carry(client));
    const HeaderFields none;
    const auto answer = client.request("GET", "/v1/agent", "agent", none, false);
    std::ignore = co_await read_some(*right, 1);
    const IoStatus sent = co_await write_all(*right, peer, false);
    CHECK(sent == IoStatus::ok);
    const IoStatus head = co_await answer->head_received();
    CHECK(head == IoStatus::failed);
    tasks.clear();
  };
  loop.run(scenario());
}

namespace {

/// The types of the frames that a session has sent (RFC 9113 section 4.1), without acknowledgements.
std::vector<int> frames_in(std::string sent) {
  constexpr std::size_t kPreface = 24;  // RFC 9113 section 3.4.
  constexpr std::size_t kHead = 9;
  std::vector<int> types;
  sent.erase(0, kPreface);
  while (sent.size() >= kHead) {
    const auto byte = [&](std::size_t at) {
      return static_cast<std::size_t>(static_cast<std::uint8_t>(sent[at]));
    };
    if ((byte(4) & 1U) == 0) types.push_back(static_cast<int>(byte(3)));
    sent.erase(0, kHead + (byte(0) << 16U | byte(1) << 8U | byte(2)));
  }
  return types;
}

}  // namespace

TEST_CASE("a session asks no peer that it hears whether it is alive, and asks one that is silent") {
  Loop loop;
  auto [left, right] = make_pair(loop);
  transport::Http2Limits limits;
  limits.ping_interval = 1s;
  Http2Session client(std::move(left), Http2Session::Role::client, a_party(loop), limits);
  std::string settings(9, '\0');
  settings[3] = 4;
  std::string ping(17, '\0');
  ping[2] = 8;
  ping[3] = 6;
  constexpr int kPing = 6;
  auto scenario = [&]() -> Task<void> {
    transport::TaskSet tasks(loop);
    tasks.spawn(Sessions::carry(client));
    IoStatus sent = co_await write_all(*right, settings, false);
    auto last = loop.now_ms();
    std::uint64_t longest = 0;
    for (int i = 0; i < 60 && sent == IoStatus::ok; ++i) {
      co_await transport::sleep(loop, 20ms);
      sent = co_await write_all(*right, ping, false);
      longest = std::max(longest, loop.now_ms() - last);
      last = loop.now_ms();
    }
    CHECK(sent == IoStatus::ok);
    std::string seen(20'000, '\0');
    const Io io = co_await right->read(std::as_writable_bytes(std::span(seen)));
    const std::vector<int> while_heard = frames_in(seen.substr(0, io.bytes));
    // On a machine that stood still for so long, it may ask.
    constexpr std::uint64_t kStandstillMs = 500;
    if (longest < kStandstillMs) CHECK(std::count(while_heard.begin(), while_heard.end(), kPing) == 0);
    // Acknowledgements may still come, of the same size.
    const transport::Deadline limit(loop, 20s, [&right] {
      right->abort(Error{"wait for", "a PING", "none came"});
    });
    std::string next;
    do {
      next = co_await read_some(*right, ping.size());
    } while (next.size() == ping.size() && next != ping);
    CHECK(next == ping);
    tasks.clear();
  };
  loop.run(scenario());
}
