#include "router/recordings/incidents.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/events/sample_event.hpp"

using namespace farport;
using namespace farport::router;
using namespace std::chrono_literals;

namespace {

using Clock = IncidentReader::Clock;

struct Said {
  const char* what;  ///< "Start" or "Stop"
  const char* span;
  const char* path;
  const char* status = "200";
  const char* ticks = "0";
};

/// As DiagnosticSource tells it.
test::SampleEvent request(const Said& said) {
  test::SampleEvent made(events::kRequestProvider, 2, "Event");
  made.payload.utf16("Microsoft.AspNetCore");
  made.payload.utf16(std::string("Microsoft.AspNetCore.Hosting.HttpRequestIn.") + said.what);
  made.payload.u16(5);
  const std::pair<const char*, const char*> pairs[] = {{"Method", "GET"},
                                                       {"Path", said.path},
                                                       {"Status", said.status},
                                                       {"Span", said.span},
                                                       {"Duration", said.ticks}};
  for (const auto& [key, value] : pairs) {
    made.payload.utf16(key);
    made.payload.utf16(value);
  }
  return made;
}

void tell(IncidentReader& reader, const Said& said) {
  auto made = request(said);
  reader.on_event(made.event());
}

IncidentPattern requests_to(std::vector<std::string> paths) {
  IncidentPattern pattern;
  pattern.of = IncidentPattern::Of::requests;
  pattern.names = std::move(paths);
  return pattern;
}

}  // namespace

TEST_CASE("Requests count as they begin", "[incidents]") {
  IncidentReader reader({requests_to({"/orders/**"})});
  tell(reader, {"Start", "1", "/health"});
  const auto first = reader.take(Clock::now());
  REQUIRE(first.size() == 1);
  CHECK(first.front().count == 0);
  tell(reader, {"Start", "2", "/orders/7"});
  tell(reader, {"Stop", "2", "/orders/7"});
  tell(reader, {"Start", "3", "/orders/8"});
  const auto found = reader.take(Clock::now());
  REQUIRE(found.size() == 1);
  CHECK(found.front().count == 2);
  CHECK(found.front().text == "GET /orders/8");
  CHECK(reader.take(Clock::now()).empty());
}

TEST_CASE("What is nearly meant is told once", "[incidents]") {
  IncidentReader reader({requests_to({"/orders/**"})});
  tell(reader, {"Start", "1", "/health"});
  tell(reader, {"Start", "2", "/order/7"});
  const auto first = reader.take(Clock::now());
  REQUIRE(first.size() == 1);
  CHECK(first.front().count == 0);
  CHECK(first.front().near == "GET /health");
  CHECK(incident_from_json(to_json(first.front()))->near == "GET /health");
  tell(reader, {"Start", "3", "/health"});
  CHECK(reader.take(Clock::now()).empty());
}

TEST_CASE("Requests count by their answers' status", "[incidents]") {
  auto pattern = requests_to({"**/*"});
  pattern.statuses = {{404, 404}, {500, 599}};
  pattern.except = {"/health"};
  IncidentReader reader({pattern});
  for (const char* status : {"200", "404", "403", "500", "599", "nothing", "-1", "99999999999999999999"}) {
    tell(reader, {"Start", "1", "/a"});
    tell(reader, {"Stop", "1", "/a", status, "12000000"});
    tell(reader, {"Stop", "2", "/health", status});
  }
  const auto found = reader.take(Clock::now());
  REQUIRE(found.size() == 1);
  CHECK(found.front().count == 3);
  CHECK(found.front().text == "GET /a: 599 after 1.2 s");
}

TEST_CASE("A slow request counts once, before it is answered or then", "[incidents]") {
  auto pattern = requests_to({"**/*"});
  pattern.slower_than = 3s;
  IncidentReader reader({pattern});
  tell(reader, {"Start", "1", "/a"});
  const auto now = Clock::now();
  CHECK(reader.awaits());
  CHECK(reader.take(now).front().count == 0);
  const auto late = reader.take(now + 4s);
  REQUIRE(late.size() == 1);
  CHECK(late.front().count == 1);
  CHECK(late.front().text == "GET /a: no answer for 3 s");
  CHECK_FALSE(reader.awaits());
  tell(reader, {"Stop", "1", "/a", "200", "50000000"});
  CHECK(reader.take(now + 5s).empty());
  // One that began before the session.
  tell(reader, {"Stop", "2", "/a", "200", "50000000"});
  CHECK(reader.take(now + 5s).front().text == "GET /a: 200 after 5 s");
  tell(reader, {"Start", "3", "/a"});
  tell(reader, {"Stop", "3", "/a", "200", "20000000"});
  CHECK(reader.take(now + 10s).empty());
}

TEST_CASE("Requests without answers take no memory without end", "[incidents]") {
  auto pattern = requests_to({"**/*"});
  pattern.slower_than = 3s;
  IncidentReader reader({pattern});
  tell(reader, {"Start", "0000000000000000", "/a"});
  CHECK_FALSE(reader.awaits());
  for (int i = 1; i <= 3000; ++i) tell(reader, {"Start", std::to_string(i).c_str(), "/a"});
  const auto found = reader.take(Clock::now() + 4s);
  REQUIRE(found.size() == 1);
  CHECK(found.front().count == 1000);
}

TEST_CASE("Patterns reach a reader as they are", "[incidents]") {
  auto pattern = requests_to({"/a", "**/b"});
  pattern.statuses = {{400, 499}};
  pattern.except = {"/c"};
  pattern.slower_than = 20ms;
  IncidentPattern log{IncidentPattern::Of::logs, {"*"}, events::LogLevel::error, "no", {}, {}, {}};
  const auto read = patterns_from_json(to_json(std::vector{pattern, log}));
  REQUIRE(read);
  CHECK(to_json(*read) == to_json(std::vector{pattern, log}));
  CHECK(read->front().slower_than == 20ms);
  CHECK_FALSE(read->back().slower_than);
}
