#include "router/reach/reach.hpp"

#include <chrono>

#include <catch2/catch.hpp>

namespace farport::router {
namespace {

std::string failure_of(const std::string& command) {
  transport::Loop loop;
  const auto reached = loop.run(reach_by_shell(command)->open(loop, make_silent_log()));
  return reached ? std::string() : reached.error().message();
}

TEST_CASE("a command that greets is a connection, and what comes behind the greeting is there") {
  transport::Loop loop;
  auto reached = loop.run(reach_by_shell("sh -c 'echo noise; echo farport-stdio 1; printf abc; cat'")
                              ->open(loop, make_silent_log()));
  REQUIRE(reached.has_value());
  std::array<std::byte, 3> read{};
  const transport::Io got = loop.run(reached->stream->read_exactly(read));
  CHECK(got.status == transport::IoStatus::ok);
  CHECK(static_cast<char>(read[2]) == 'c');
}

TEST_CASE("a command that does not lead to an agent says why") {
  CHECK_THAT(failure_of("sh -c 'echo no such host >&2; exit 3'"),
             Catch::Contains("ended with code 3: no such host"));
  CHECK_THAT(failure_of("nosuch-program-at-all"), Catch::Contains("in PATH?"));
  CHECK_THAT(failure_of("yes"), Catch::Contains("says something else"));
  CHECK_THAT(failure_of("printf 'farport-stdio 1'"), Catch::Contains("ended with code 0"));
  CHECK_THAT(failure_of("printf 'farport-stdio 1\\r\\n'"), Catch::Contains("ended with code 0"));
}

TEST_CASE("the command ends with its stream, though it ignores that its input has ended") {
  transport::Loop loop;
  const auto before = std::chrono::steady_clock::now();
  {
    auto reached =
        loop.run(reach_by_shell("sh -c 'trap \"\" TERM; echo farport-stdio 1; while :; do sleep 1; done'")
                     ->open(loop, make_silent_log()));
    REQUIRE(reached.has_value());
  }
  // It would go on for ever.
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::minutes(1));
}

TEST_CASE("ssh targets are hosts, and never options") {
  CHECK(reach_of("ssh://ops@web-3:2222").has_value());
  for (const auto* wrong : {"ssh://", "ssh://-oProxyCommand=x", "ssh://:22", "web-3"}) {
    CAPTURE(wrong);
    CHECK_FALSE(reach_of(wrong).has_value());
  }
}

}  // namespace
}  // namespace farport::router
