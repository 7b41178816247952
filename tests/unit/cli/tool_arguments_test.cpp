#include "cli/commands/tool_arguments.hpp"

#include <catch2/catch.hpp>

using namespace farport::cli;
using Kind = ToolTarget::Kind;

TEST_CASE("a tool's arguments that name a runtime are found in all their forms") {
  const auto targets = find_targets({"dotnet-trace", "collect", "-p", "12", "--name=orders", "--process-id:7",
                                     "--diagnostic-port", "orders:9000", "--", "app", "-p", "13"});
  REQUIRE(targets.size() == 4);
  CHECK(targets[0].kind == Kind::process_id);
  CHECK(targets[0].argument == 3);
  CHECK(targets[0].prefix.empty());
  CHECK(targets[1].kind == Kind::name);
  CHECK(targets[1].prefix == "--name=");
  CHECK(targets[1].value == "orders");
  CHECK(targets[2].prefix == "--process-id:");
  CHECK(targets[2].value == "7");
  CHECK(targets[3].value == "orders:9000");
  const auto alias =
      find_targets({"dotnet-trace", "collect", "--dport", "orders:9000", "--dport=orders:9001"});
  REQUIRE(alias.size() == 2);
  CHECK(alias[0].kind == Kind::diagnostic_port);
  CHECK(alias[1].value == "orders:9001");
  // An option without its value is the tool's to complain about.
  CHECK(find_targets({"dotnet-trace", "collect", "-p"}).empty());
  CHECK(find_targets({"dotnet-trace", "collect", "-p", "--", "app"}).empty());
  CHECK(find_targets({"dotnet-trace", "collect", "--profile", "gc-verbose", "--providers", "x"}).empty());
}

TEST_CASE("a diagnostic port is a remote's only if it has the form of one") {
  const auto remote = [](const char* text) { return parse_remote_port(text); };
  CHECK(remote("orders:9000")->value().agent == "orders:9000");
  CHECK(remote("orders:9000")->value().runtime.empty());
  CHECK(remote("10.0.0.2:9000/orders,connect")->value().agent == "10.0.0.2:9000");
  CHECK(remote("10.0.0.2:9000/orders,connect")->value().runtime == "orders");
  CHECK(remote("[fd00::2]:9000/17")->value().agent == "[fd00::2]:9000");
  for (const char* path : {"/tmp/x.sock", "/tmp/x.sock,connect", "x.sock", "./a:b", "uds:/tmp/x", "C:\\x"}) {
    INFO(path);
    const auto port = parse_remote_port(path);
    REQUIRE(port.has_value());
    CHECK_FALSE(port->has_value());
  }
  CHECK_FALSE(remote("orders:9000/orders")->value().listen);
  CHECK(remote("orders:9000,listen")->value().listen);
  CHECK(remote("orders:9000/orders,listen")->value().runtime == "orders");
  CHECK_FALSE(parse_remote_port("orders:9000,lisen").has_value());
}
