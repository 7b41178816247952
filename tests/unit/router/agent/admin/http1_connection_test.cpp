#include "router/agent/admin/http1_connection.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/streams.hpp"

using namespace farport::router;
using namespace farport::test;
using namespace std::chrono_literals;

namespace {

const Http1Connection::Answerer& echo() {
  static const Http1Connection::Answerer answerer = [](const Http1Request& request) {
    return Http1Answer{200, request.method + " " + request.path};
  };
  return answerer;
}

/// Serves what a client says, which then ends its side: all that it is answered.
std::string answers_to(const std::string& said, const Http1Patience& patience = {},
                       const Http1Connection::Answerer& answerer = echo(), bool ends = true) {
  Loop loop;
  auto [client, server] = make_pair(loop);
  farport::transport::Share share(loop, 1ms);
  Http1Connection connection(*server, share, patience, answerer);
  return loop.run(
      [](Stream& to, Http1Connection& served, Loop& on, std::string text, bool finish) -> Task<std::string> {
        farport::transport::TaskSet serving(on);
        serving.spawn(served.serve());
        std::ignore = co_await write_all(to, std::move(text), finish);
        co_await serving.idle();
        // What it has not read by now it gets all the same.
        std::string all(100'000, '\0');
        const Io got = to.try_read(std::as_writable_bytes(std::span(all)));
        all.resize(got.bytes);
        co_return all;
      }(*client, connection, loop, said, ends));
}

std::string body_of(const std::string& answer) {
  return answer.substr(answer.find("\r\n\r\n") + 4);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("a request is answered with its length, type and date", "[router]") {
  const std::string answer = answers_to("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK(answer.starts_with("HTTP/1.1 200 OK\r\nDate: "));
  CHECK(answer.find(" GMT\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 6\r\n") !=
        std::string::npos);
  CHECK(answer.find("Connection: close") == std::string::npos);
  CHECK(body_of(answer) == "GET /x");
}

TEST_CASE("HEAD gets all but the body", "[router]") {
  const std::string answer = answers_to("HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK(answer.find("Content-Length: 7\r\n") != std::string::npos);
  CHECK(body_of(answer).empty());
}

TEST_CASE("requests that come at once are answered in their order", "[router]") {
  std::string many;
  for (int i = 0; i < 50; ++i) many += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string answers = answers_to(many);
  CHECK(count(answers, "HTTP/1.1 200 OK\r\n") == 50);
  CHECK(answers.find("GET /7HTTP") < answers.find("GET /8HTTP"));
  CHECK(body_of(answers.substr(answers.rfind("HTTP/1.1"))) == "GET /49");
}

TEST_CASE("what is wrong is answered, and ends the connection", "[router]") {
  CHECK(answers_to("nonsense\r\n\r\n").starts_with("HTTP/1.1 400 Bad Request\r\n"));
  const std::string answers = answers_to("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nGET /");
  CHECK(count(answers, "HTTP/1.1 ") == 1);
  CHECK(answers.find("Connection: close\r\n") != std::string::npos);
}

TEST_CASE("405 names the methods that there are", "[router]") {
  const Http1Connection::Answerer refuses = [](const Http1Request&) { return Http1Answer{405, "no"}; };
  CHECK(answers_to("PUT / HTTP/1.1\r\nHost: a\r\n\r\n", {}, refuses).find("Allow: GET, HEAD\r\n") !=
        std::string::npos);
}

TEST_CASE("who says nothing, or half a request, is left in the end", "[router]") {
  CHECK(answers_to("", {1ms, 10s, 10s, 1s}, echo(), false).empty());
  CHECK(answers_to("GET / HT", {120s, 1ms, 10s, 1ms}, echo(), false).starts_with("HTTP/1.1 408 "));
  CHECK(answers_to("GET / HT").empty());
}

TEST_CASE("who takes no answers is left in the end", "[router]") {
  const Http1Connection::Answerer long_answer = [](const Http1Request&) {
    return Http1Answer{200, std::string(8 << 20, 'x')};
  };
  const Http1Patience impatient{120s, 10s, 1ms, 1ms};
  const std::string answer = answers_to("GET / HTTP/1.1\r\nHost: a\r\n\r\n", impatient, long_answer, false);
  CHECK(answer.size() < 8 << 20);
}
