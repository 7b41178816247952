// Which runtime a person means, and what to write where that is not clear.
#include "router/wire/runtime.hpp"

#include <catch2/catch.hpp>

using farport::router::choose_runtime;
using farport::router::names_runtime;
using farport::router::Runtime;
using farport::router::runtimes_from_json;
using farport::router::to_json;
using farport::router::tool_name;

namespace {

Runtime runtime(std::string name, std::uint64_t pid, std::string host, std::string id = "id") {
  Runtime made;
  made.id = std::move(id);
  made.pid = pid;
  made.name = std::move(name);
  made.command_line = "/app/" + made.name + " --rate 4";
  made.host = std::move(host);
  return made;
}

/// The text before each " (" of an error's offers.
std::vector<std::string> offered(const std::string& cure) {
  std::vector<std::string> texts;
  std::string rest = cure.substr(std::string("choose one of ").size());
  for (std::size_t at = rest.find(" ("); at != std::string::npos; at = rest.find(" (")) {
    texts.push_back(rest.substr(0, at));
    const std::size_t next = rest.find("), ", at);
    if (next == std::string::npos) break;
    rest = rest.substr(next + 3);
  }
  return texts;
}

/// Whether each offer chooses one runtime, and no two of them the same.
void check_offers(const std::vector<Runtime>& runtimes, const std::string& wanted,
                  const std::vector<std::string>& expected) {
  std::vector<const Runtime*> among;
  for (const Runtime& each : runtimes) among.push_back(&each);
  const auto chosen = choose_runtime(wanted, among);
  REQUIRE(!chosen);
  const std::vector<std::string> texts = offered(chosen.error().hint);
  CHECK(texts == expected);
  for (const std::string& text : texts) CHECK(choose_runtime(text, among).has_value());
}

}  // namespace

TEST_CASE("a runtime is named by its id, its pid or its name, with its host or without") {
  const Runtime orders = runtime("orders", 1, "web-1", "2cf9291d");
  for (const char* wanted : {"orders", "ORDERS", "1", "2cf9291d", "orders@web-1", "1@web-1", "2cf9291d@web-1",
                             "ord*", "orders@WEB-1", "orders@web-*", "/app/ord*@web-1"}) {
    CHECK(names_runtime(wanted, orders));
  }
  Runtime contained = orders;
  contained.host_pid = 48213;
  for (const char* wanted : {"1", "48213", "48213@web-1"}) CHECK(names_runtime(wanted, contained));
  CHECK(!names_runtime("0", orders));
  for (const char* wanted :
       {"billing", "2", "orders@web-2", "billing@web-1", "@web-1", "orders@", "@", "web-1"}) {
    CHECK(!names_runtime(wanted, orders));
  }
}

TEST_CASE("a runtime is named by the address of its agent, which no agent can claim") {
  Runtime orders = runtime("orders", 1, "web-1", "a");
  orders.address = "10.1.2.3:9000";
  for (const char* wanted : {"orders@10.1.2.3", "1@10.1.2.3:9000", "orders@10.1.2.*", "orders@web-1"}) {
    CHECK(names_runtime(wanted, orders));
  }
  for (const char* wanted : {"orders@10.1.2.4", "orders@10.1.2.3:9001", "orders@9000", "orders@10.1.2"}) {
    CHECK(!names_runtime(wanted, orders));
  }
  Runtime six = orders;
  six.address = "[fd00::2]:9000";
  for (const char* wanted : {"orders@fd00::2", "orders@[fd00::2]", "orders@[fd00::2]:9000"}) {
    CHECK(names_runtime(wanted, six));
  }
  Runtime impostor = runtime("orders", 2, "10.1.2.3", "b");
  impostor.address = "10.6.6.6:9000";
  CHECK(!names_runtime("orders@10.1.2.3", impostor));
  CHECK(choose_runtime("orders@10.1.2.3", {&impostor, &orders}) == 1);
}

TEST_CASE("replicas whose hosts have one name are offered by their addresses") {
  std::vector<Runtime> replicas{runtime("orders", 1, "", "a"), runtime("orders", 1, "", "b")};
  replicas[0].address = "10.1.2.3:9000";
  replicas[1].address = "10.1.2.4:9000";
  check_offers(replicas, "orders", {"orders@10.1.2.3:9000", "orders@10.1.2.4:9000"});
}

TEST_CASE("replicas on one node are told apart by their pods and containers") {
  std::vector<Runtime> replicas{runtime("orders", 1, "node-1", "a"), runtime("orders", 1, "node-1", "b"),
                                runtime("orders", 1, "node-1", "c"), runtime("orders", 1, "node-1", "d")};
  replicas[0].container = {"c0", "web", "orders-7d4b9"};
  replicas[1].container = {"c1", "web", "orders-x2x9k"};
  replicas[2].container = {"c2", "side", "orders-x2x9k"};
  replicas[3].container = {"c3", "shop", ""};
  check_offers(replicas, "orders",
               {"orders@orders-7d4b9", "orders@orders-x2x9k/web", "orders@orders-x2x9k/side", "orders@shop"});
  CHECK(names_runtime("1@orders-x2*", replicas[1]));
  Runtime impostor = runtime("orders", 2, "node-1", "e");
  impostor.address = "10.6.6.6:9000";
  impostor.container.pod = "10.1.2.3";
  CHECK(!names_runtime("orders@10.1.2.3", impostor));
}

TEST_CASE("a runtime's own pid comes before another one's on its host") {
  Runtime other = runtime("billing", 1, "web-1", "7e");
  other.host_pid = 42;
  const Runtime orders = runtime("orders", 42, "web-1", "2c");
  CHECK(choose_runtime("42", {&other, &orders}) == 1);
  CHECK(choose_runtime("42", {&other}) == 0);
}

TEST_CASE("an application that dotnet runs goes by the names that tools have for it, there and here") {
  Runtime shop = runtime("Shop.Web", 1, "web-1");
  shop.command_line = "dotnet /app/Shop.Web.dll --urls http://+:80";
  CHECK(tool_name(shop) == "Shop.Web.dll");
  for (const char* wanted :
       {"Shop.Web", "Shop.Web.dll", "dotnet", "shop.web.dll@web-1", "dotnet@web-1", "*.dll"}) {
    CHECK(names_runtime(wanted, shop));
  }
  for (const char* wanted : {"Shop", "Web.dll", "--urls", "dotne"}) CHECK(!names_runtime(wanted, shop));
}

TEST_CASE("tools complete a name that Linux has cut") {
  Runtime shop = runtime("Company.Shop.Billing.Worker", 1, "");
  CHECK(tool_name(shop) == "Company.Shop.Billing.Worker");
  shop.command_line = "/usr/bin/dotnet /app/Company.Shop.Billing.Worker.dll";
  CHECK(tool_name(shop) == "Company.Shop.Billing.Worker.dll");
  shop.command_line = "/usr/bin/dotnet exec /app/Company.Shop.Billing.Worker.dll";
  CHECK(tool_name(shop) == "Company.Shop.Bi");
  shop.command_line.clear();
  CHECK(tool_name(shop) == "Company.Shop.Bi");
}

TEST_CASE("an @ in a name or a host is no end of it") {
  CHECK(names_runtime("orders@blue", runtime("orders@blue", 1, "web-1")));
  CHECK(names_runtime("orders@blue@web-1", runtime("orders@blue", 1, "web-1")));
  CHECK(names_runtime("orders@a@b", runtime("orders", 1, "a@b")));
}

TEST_CASE("what is offered can be written, and names one runtime") {
  check_offers({runtime("orders", 7, "web-1"), runtime("billing", 8, "web-1")}, "", {"orders", "billing"});
  check_offers({runtime("orders", 1, "web-1", "a"), runtime("orders", 1, "web-2", "b")}, "orders",
               {"orders@web-1", "orders@web-2"});
  check_offers({runtime("orders", 7, "web-1", "a"), runtime("orders", 8, "web-1", "b")}, "orders",
               {"7", "8"});
  check_offers({runtime("orders", 1, "web-1", "a"), runtime("orders", 1, "web-1", "b")}, "orders",
               {"a", "b"});
  check_offers({runtime("orders", 1, "", "a"), runtime("orders", 1, "", "b")}, "orders", {"a", "b"});
}

TEST_CASE("only what fits is offered, unless nothing does") {
  const std::vector<Runtime> all{runtime("orders", 1, "web-1", "a"), runtime("orders", 1, "web-2", "b"),
                                 runtime("billing", 2, "web-1", "c")};
  check_offers(all, "orders", {"orders@web-1", "orders@web-2"});
  check_offers(all, "shipping", {"orders@web-1", "orders@web-2", "billing"});
}

TEST_CASE("names and hosts that can't be typed are not offered") {
  check_offers({runtime("or\x1b[2Jders", 7, "web-1", "a"), runtime("*", 8, "web-1", "b")}, "", {"7", "8"});
  check_offers({runtime("orders", 1, "we b", "a"), runtime("orders", 1, "we\nb2", "b")}, "orders",
               {"a", "b"});
}

TEST_CASE("a long list is offered in part") {
  std::vector<Runtime> many;
  for (std::uint64_t i = 0; i < 1000; ++i) many.push_back(runtime("app" + std::to_string(i), i + 1, "web-1"));
  std::vector<const Runtime*> among;
  for (const Runtime& each : many) among.push_back(&each);
  const std::string hint = choose_runtime("", among).error().hint;
  CHECK(hint.find("or one of 980 more") != std::string::npos);
  CHECK(hint.size() < 2000);
}

TEST_CASE("a runtime's host goes to the other side and back, and need not be there") {
  const Runtime orders = runtime("orders", 1, "web-1");
  const auto read = farport::router::runtimes_from_json("[" + farport::router::to_json(orders) + "]");
  REQUIRE(read);
  CHECK(read->front() == orders);
  std::string old = farport::router::to_json(orders);
  old.erase(old.find("\"host\":\"web-1\","), std::string("\"host\":\"web-1\",").size());
  const auto without = farport::router::runtimes_from_json("[" + old + "]");
  REQUIRE(without);
  CHECK(without->front().host.empty());
}

TEST_CASE("a host name that no host has is none") {
  Runtime orders = runtime("orders", 1, std::string(100'000, 'a'));
  const auto read = farport::router::runtimes_from_json("[" + farport::router::to_json(orders) + "]");
  REQUIRE(read);
  CHECK(read->front().host.empty());
}

TEST_CASE("whether a program was compiled ahead of time is told where it was") {
  Runtime orders = runtime("orders", 1, "web-1", "2cf9291d");
  CHECK_THAT(to_json(orders), !Catch::Contains("native"));
  orders.native = true;
  const auto read = runtimes_from_json(to_json(std::vector{orders}));
  REQUIRE(read);
  CHECK(read->front().native);
}
