#include <chrono>

#include <catch2/catch.hpp>

#include "router/reach/named_reach.hpp"

namespace farport::router {
namespace {

/// Opens the only way to the target.
Result<Reached> open(transport::Loop& loop, const std::shared_ptr<const ReachTarget>& target) {
  const auto ways = loop.run(target->find(loop));
  REQUIRE(ways.has_value());
  REQUIRE(ways->size() == 1);
  return loop.run(ways->front()->open(loop, make_silent_log()));
}

std::string failure_of(const std::string& command) {
  transport::Loop loop;
  const auto reached = open(loop, reach_by_shell(command));
  return reached ? std::string() : reached.error().message();
}

TEST_CASE("a command that greets is a connection, and what comes behind the greeting is there") {
  transport::Loop loop;
  auto reached = open(loop, reach_by_shell("sh -c 'echo noise; echo farport-stdio 1; printf abc; cat'"));
  REQUIRE(reached.has_value());
  std::array<std::byte, 3> read{};
  const transport::Io got = loop.run(reached->stream->read_exactly(read));
  CHECK(got.status == transport::IoStatus::ok);
  CHECK(static_cast<char>(read[2]) == 'c');
}

TEST_CASE("a command that does not lead to an agent says why") {
  CHECK_THAT(failure_of("sh -c 'echo no such host >&2; exit 3'"),
             Catch::Contains("ended with code 3: no such host"));
  CHECK_THAT(failure_of("sh -c 'printf \"no room\\n\\nRun \\047docker run --help\\047\\n\" >&2; exit 125'"),
             Catch::EndsWith("no room"));
  CHECK_THAT(failure_of("nosuch-program-at-all"), Catch::Contains("in PATH?"));
  CHECK_THAT(failure_of("yes"), Catch::Contains("is not that of farport stdio"));
  CHECK_THAT(failure_of("printf 'farport-stdio 1'"), Catch::Contains("ended with code 0"));
  CHECK_THAT(failure_of("printf 'farport-stdio 1\\r\\n'"), Catch::Contains("ended with code 0"));
}

TEST_CASE("the command ends with its stream, though it ignores that its input has ended") {
  transport::Loop loop;
  const auto before = std::chrono::steady_clock::now();
  {
    auto reached =
        open(loop, reach_by_shell("sh -c 'trap \"\" TERM; echo farport-stdio 1; while :; do sleep 1; done'"));
    REQUIRE(reached.has_value());
  }
  // It would go on for ever.
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::minutes(1));
}

TEST_CASE("a command asks for a program only where it may have one") {
  CHECK_THAT(failure_of("sh -c 'echo farport-send gzip; cat'"), Catch::Contains("not to have"));
}

TEST_CASE("targets that are none are refused, and so is what might be an option") {
  const auto fits = [](const std::string& text) { return reach_of(text, Deploy{}).has_value(); };
  for (const auto* right : {"ssh://ops@web-3:2222", "ssh://[::1]", "podman://orders", "docker://a.b-c_d",
                            "k8s://orders", "k8s://prod/deploy/orders/web", "k8s://prod/?app=orders"}) {
    CAPTURE(right);
    CHECK(fits(right));
  }
  for (const auto* wrong :
       {"ssh://",       "ssh://-oProxyCommand=x", "ssh://:22",    "ssh://a b",    "ssh://a@-b",
        "ssh://$(id)",  "ssh://host:22x",         "web-3",        "podman://",    "podman://-v",
        "podman://a b", "podman://a'b",           "docker://a/b", "k8s://",       "k8s://-n",
        "k8s://a//b",   "k8s://a/b/c/d/e",        "k8s://@a",     "k8s://Prod/a", "k8s://a?b",
        "k8s://a/?-l",  "k8s://a/?x;y",           "echo://x",     "/bin/sh://x"}) {
    CAPTURE(wrong);
    CHECK_FALSE(fits(wrong));
  }
  Deploy option;
  option.image = "--privileged";
  CHECK_FALSE(reach_of("podman://orders", option).has_value());
}

}  // namespace
}  // namespace farport::router
