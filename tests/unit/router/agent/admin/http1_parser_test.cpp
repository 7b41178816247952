#include "router/agent/admin/http1_parser.hpp"

#include <catch2/catch.hpp>

using namespace farport::router;
using State = Http1Parser::State;

namespace {

State feed_all(Http1Parser& parser, std::string_view bytes) {
  const State state = parser.feed(bytes);
  if (state == State::whole) CHECK(bytes.empty());
  return state;
}

/// What is answered to bytes that are no request; 0 where they are one, or may become one.
int status_of(std::string_view bytes) {
  Http1Parser parser;
  return parser.feed(bytes) == State::wrong ? parser.status() : 0;
}

Http1Request request_of(std::string_view bytes) {
  Http1Parser parser;
  REQUIRE(feed_all(parser, bytes) == State::whole);
  return parser.request();
}

}  // namespace

TEST_CASE("a request is read, however it is cut into pieces", "[router]") {
  const std::string text = "GET /metrics?all=1 HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n";
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    Http1Parser parser;
    REQUIRE(feed_all(parser, text.substr(0, cut)) == State::more);
    CHECK(parser.begun());
    REQUIRE(feed_all(parser, text.substr(cut)) == State::whole);
    CHECK_FALSE(parser.begun());
    CHECK(parser.request().method == "GET");
    CHECK(parser.request().path == "/metrics");
    CHECK(parser.request().keep_alive);
  }
}

TEST_CASE("a head without fields is whole, however it is cut into pieces", "[router]") {
  const std::string text = "GET /healthz HTTP/1.0\r\n\r\n";
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    Http1Parser parser;
    REQUIRE(feed_all(parser, text.substr(0, cut)) == State::more);
    REQUIRE(feed_all(parser, text.substr(cut)) == State::whole);
    CHECK(parser.request().path == "/healthz");
  }
}

TEST_CASE("one request follows the other", "[router]") {
  Http1Parser parser;
  std::string_view bytes = "GET /a HTTP/1.1\r\nHost: x\r\n\r\nHEAD /b HTTP/1.1\r\nHost: y\r\n\r\nGET";
  REQUIRE(parser.feed(bytes) == State::whole);
  CHECK(parser.request().path == "/a");
  REQUIRE(parser.feed(bytes) == State::whole);
  CHECK(parser.request().method == "HEAD");
  CHECK(parser.request().path == "/b");
  CHECK(parser.feed(bytes) == State::more);
  CHECK(bytes.empty());
}

TEST_CASE("the path is found in each form of a target", "[router]") {
  CHECK(request_of("GET http://agent:9100/readyz HTTP/1.1\r\nHost: a\r\n\r\n").path == "/readyz");
  CHECK(request_of("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").path == "*");
  CHECK(request_of("GET /a/../b%20c HTTP/1.1\r\nHost: a\r\n\r\n").path == "/a/../b%20c");
  CHECK(request_of("GET http://agent?u=/metrics HTTP/1.1\r\nHost: a\r\n\r\n").path.empty());
  CHECK(request_of("GET x?y://z/metrics HTTP/1.1\r\nHost: a\r\n\r\n").path.empty());
  CHECK(request_of("CONNECT agent:80 HTTP/1.1\r\nHost: a\r\n\r\n").path.empty());
}

TEST_CASE("a connection ends where the client says so, or where a body would follow", "[router]") {
  CHECK_FALSE(request_of("GET / HTTP/1.0\r\n\r\n").keep_alive);
  CHECK(request_of("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").keep_alive);
  CHECK_FALSE(request_of("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").keep_alive);
  CHECK(request_of("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n").keep_alive);
  CHECK_FALSE(request_of("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n").keep_alive);
  CHECK_FALSE(request_of("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n").keep_alive);
  CHECK_FALSE(
      request_of("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n").keep_alive);
}

TEST_CASE("what is no request is told apart", "[router]") {
  CHECK(status_of("GET /\r\n\r\n") == 400);
  CHECK(status_of("\x16\x03\x01") == 400);
  CHECK(status_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") == 505);
  CHECK(status_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n") == 505);
  CHECK(status_of("GET / HTTP/1.0\n\n") == 400);
  CHECK(status_of("GET / FOO/1.1\r\nHost: a\r\n\r\n") == 400);
  CHECK(status_of("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n") == 400);
  CHECK(status_of("GET / \r\n\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\r\n\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\r\nHost : a\r\n\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n") ==
        400);
  CHECK(status_of("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n") == 400);
}

TEST_CASE("nothing is read after what is wrong", "[router]") {
  Http1Parser parser;
  CHECK(feed_all(parser, "nonsense\r\n\r\n") == State::wrong);
  CHECK(feed_all(parser, "GET / HTTP/1.1\r\nHost: a\r\n\r\n") == State::wrong);
}

TEST_CASE("a head has a limit, whatever it is made of", "[router]") {
  const std::string long_text(Http1Parser::kMaxHeadBytes, 'a');
  CHECK(status_of("GET /" + long_text) == 431);
  CHECK(status_of("GET / HTTP/1.1\r\n" + long_text) == 431);
  CHECK(status_of("GET / HTTP/1.1\r\nHost: " + long_text) == 431);
  Http1Parser parser;
  State state = State::more;
  for (int i = 0; i < 10'000 && state == State::more; ++i) state = feed_all(parser, "\r\n");
  CHECK(state == State::wrong);
  // As long as it may be, and no longer.
  const std::string begin = "GET / HTTP/1.1\r\nHost: ";
  const std::string end = "\r\n\r\n";
  const std::string most(Http1Parser::kMaxHeadBytes - begin.size() - end.size(), 'a');
  CHECK(status_of(begin + most + end) == 0);
  CHECK(status_of(begin + most + "a" + end) == 431);
}
