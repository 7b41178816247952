#include <sys/ioctl.h>

#include <catch2/catch.hpp>

#include "tests/unit/auth/fixtures.hpp"
#include "tests/unit/streams.hpp"
#include "transport/http2/session.hpp"
#include "transport/share.hpp"
#include "transport/tls_stream.hpp"

using namespace farport;
using namespace farport::test;
using namespace std::chrono_literals;
using auth::test::must;
using auth::test::TestCa;
using transport::TlsStream;

namespace {

/// A client and a server over a socket pair, hands shaken.
struct TlsPair {
  explicit TlsPair(Loop& on) : loop(on) {
    server_context = must(auth::make_server_context(ca.server("agent")));
    client_context = must(auth::make_client_context(ca.client("alice")));
    auto [left, right] = make_pair(loop);
    lower = left.get();
    far_lower = right.get();
    client = std::make_unique<TlsStream>(std::move(left), client_context.get(), TlsStream::Side::client);
    server = std::make_unique<TlsStream>(std::move(right), server_context.get(), TlsStream::Side::server);
    REQUIRE(auth::set_expected_server_name(client->ssl(), "agent").has_value());
    loop.run(shake_hands());
  }

  Task<void> shake_hands() {
    transport::Share time(loop, std::chrono::seconds(1));
    transport::TaskSet tasks(loop);
    tasks.spawn([](TlsStream& stream, transport::Share& time) -> Task<void> {
      const Result<void> agreed = co_await stream.handshake(time);
      CHECK(agreed.has_value());
    }(*server, time));
    const Result<void> agreed = co_await client->handshake(time);
    CHECK(agreed.has_value());
    co_await tasks.idle();
  }

  Loop& loop;
  TestCa ca;
  auth::SslCtxPtr server_context;
  auth::SslCtxPtr client_context;
  FdStream* lower = nullptr;  ///< The client's.
  FdStream* far_lower = nullptr;
  std::unique_ptr<TlsStream> client;
  std::unique_ptr<TlsStream> server;
};

}  // namespace

TEST_CASE("TLS carries both directions at once, and each ends by itself") {
  Loop loop;
  TlsPair pair(loop);
  const std::string sent = pattern(3'000'000);
  auto scenario = [&]() -> Task<void> {
    transport::TaskSet tasks(loop);
    const auto send = [](Stream& to, std::string text) -> Task<void> {
      const IoStatus status = co_await write_all(to, std::move(text), true);
      CHECK(status == IoStatus::ok);
    };
    tasks.spawn(send(*pair.client, sent));
    const std::string forth = co_await read_all(*pair.server);
    CHECK((forth == sent));
    // The client has finished sending (close_notify); the way back is still open.
    tasks.spawn(send(*pair.server, sent));
    const std::string back = co_await read_all(*pair.client);
    CHECK((back == sent));
    co_await tasks.idle();
  };
  loop.run(scenario());
}

TEST_CASE("a TLS writer waits while nobody reads") {
  Loop loop;
  TlsPair pair(loop);
  auto scenario = [&]() -> Task<void> {
    bool done = false;
    transport::TaskSet tasks(loop);
    tasks.spawn([](Stream& to, bool& flag) -> Task<void> {
      std::ignore = co_await write_all(to, pattern(4'000'000), true);
      flag = true;
    }(*pair.client, done));
    co_await transport::sleep(loop, 30ms);
    CHECK_FALSE(done);
    const std::string got = co_await read_all(*pair.server);
    CHECK(got.size() == 4'000'000);
    co_await tasks.idle();
  };
  loop.run(scenario());
}

TEST_CASE("what a relay reads at once makes one TCP segment over loopback") {
  Loop loop;
  TlsPair pair(loop);
  // With the headers of its four frames, and that of its encoding.
  constexpr std::size_t kSize =
      4 * transport::kHeadroom + transport::kEncodingHeadroom + transport::BufferPool::kSpace;
  auto scenario = [&]() -> Task<void> {
    const IoStatus sent = co_await write_all(*pair.client, pattern(kSize), false);
    CHECK(sent == IoStatus::ok);
  };
  loop.run(scenario());
  int arrived = 0;
  REQUIRE(::ioctl(pair.far_lower->fd(), FIONREAD, &arrived) == 0);
  CHECK(static_cast<std::size_t>(arrived) == transport::kLoopbackSegment);
}

TEST_CASE("a TLS connection cut off without a goodbye is an error, not an end") {
  Loop loop;
  TlsPair pair(loop);
  auto scenario = [&]() -> Task<void> {
    const IoStatus sent = co_await write_all(*pair.client, "half a tra", false);
    CHECK(sent == IoStatus::ok);
    pair.client.reset();
    IoStatus last = IoStatus::ok;
    const std::string got = co_await read_all(*pair.server, &last);
    CHECK(got == "half a tra");
    CHECK(last == IoStatus::failed);
    CHECK(pair.server->error().why == "it closed the connection");
  };
  loop.run(scenario());
}

TEST_CASE("aborting TLS fails whoever waits on it") {
  Loop loop;
  TlsPair pair(loop);
  auto scenario = [&]() -> Task<void> {
    IoStatus read = IoStatus::ok;
    IoStatus written = IoStatus::ok;
    transport::TaskSet tasks(loop);
    tasks.spawn([](Stream& from, IoStatus& status) -> Task<void> {
      const std::string nothing = co_await read_all(from, &status);
      CHECK(nothing.empty());
    }(*pair.client, read));
    tasks.spawn([](Stream& to, IoStatus& status) -> Task<void> {
      status = co_await write_all(to, pattern(4'000'000), false);
    }(*pair.client, written));
    co_await transport::sleep(loop, 10ms);
    pair.client->abort(Error{"carry", "this test", "it was aborted"});
    co_await tasks.idle();
    CHECK(read == IoStatus::failed);
    CHECK(written == IoStatus::failed);
  };
  loop.run(scenario());
}

TEST_CASE("garbage after the handshake is an error") {
  Loop loop;
  TlsPair pair(loop);
  auto scenario = [&]() -> Task<void> {
    const IoStatus sent = co_await write_all(*pair.lower, pattern(1000), false);
    CHECK(sent == IoStatus::ok);
    IoStatus last = IoStatus::ok;
    const std::string nothing = co_await read_all(*pair.server, &last);
    CHECK(last == IoStatus::failed);
    CHECK(pair.server->openssl_error() != 0);
  };
  loop.run(scenario());
}

TEST_CASE("a session over TLS carries streams both ways") {
  Loop loop;
  TlsPair pair(loop);
  CHECK(pair.server->alpn() == "h2");
  transport::TaskSet tasks(loop);
  transport::Http2Session client(std::move(pair.client), transport::Http2Session::Role::client, a_party(loop),
                                 {});
  transport::Http2Session server(
      std::move(pair.server), transport::Http2Session::Role::server, a_party(loop), {},
      [&](std::unique_ptr<transport::Http2Stream> request) {
        tasks.spawn([](std::unique_ptr<transport::Http2Stream> stream) -> Task<void> {
          stream->respond(200, {}, true);
          std::string all = co_await read_all(*stream);
          std::ignore = co_await write_all(*stream, std::move(all), true);
        }(std::move(request)));
      });
  const auto carry = [](transport::Http2Session& session) -> Task<void> {
    std::ignore = co_await session.run();
  };
  transport::TaskSet sessions(loop);
  sessions.spawn(carry(client));
  sessions.spawn(carry(server));
  const std::string sent = pattern(2'000'000);
  auto scenario = [&]() -> Task<void> {
    const auto stream = client.request("POST", "/echo", "agent", {}, true);
    const IoStatus status = co_await write_all(*stream, sent, true);
    CHECK(status == IoStatus::ok);
    const std::string got = co_await read_all(*stream);
    CHECK((got == sent));
  };
  loop.run(scenario());
  tasks.clear();
}
