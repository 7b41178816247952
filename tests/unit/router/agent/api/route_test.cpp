#include <catch2/catch.hpp>

#include "router/agent/api/caller_session.hpp"

using farport::router::parse_route;
using farport::router::Route;

TEST_CASE("the id of an artifact is a part of the path", "[api]") {
  const Route route = parse_route("POST", "/v1/artifacts/20261127T101112Z-orders-1-1a2b3c4d");
  CHECK(route.path == "/v1/artifacts/{id}");
  CHECK(route.id == "20261127T101112Z-orders-1-1a2b3c4d");
  CHECK(parse_route("GET", "/v1/artifacts").path == "/v1/artifacts");
}

TEST_CASE("a path without a runtime stands as it is", "[router]") {
  for (const std::string path :
       {"/", "/v1/runtimes", "/v1/agent", "/v2/runtimes/x/ipc", "*", "", "v1/agent"}) {
    INFO(path);
    const Route route = parse_route("GET", path);
    CHECK(route.method == "GET");
    CHECK(route.path == path);
    CHECK(route.id.empty());
    CHECK(route.query.empty());
  }
}

TEST_CASE("a runtime's id is taken out of the path", "[router]") {
  const Route route = parse_route("POST", "/v1/runtimes/2cf9291d-e961/ipc");
  CHECK(route.method == "POST");
  CHECK(route.path == "/v1/runtimes/{id}/ipc");
  CHECK(route.id == "2cf9291d-e961");
}

TEST_CASE("a path with more or less than a runtime and an action is none that is known", "[router]") {
  CHECK(parse_route("POST", "/v1/runtimes/").path == "/v1/runtimes/{id}/");
  CHECK(parse_route("POST", "/v1/runtimes/x").path == "/v1/runtimes/{id}/");
  CHECK(parse_route("POST", "/v1/runtimes/x/").path == "/v1/runtimes/{id}/");
  CHECK(parse_route("POST", "/v1/runtimes/x/y/ipc").path == "/v1/runtimes/{id}/y/ipc");
  CHECK(parse_route("POST", "/v1/runtimes//x/ipc").path == "/v1/runtimes/{id}/x/ipc");
  CHECK(parse_route("POST", "/v1/runtimes/../agent").path == "/v1/runtimes/{id}/agent");
  CHECK(parse_route("POST", "/v1/runtimes/x/ipc/").path == "/v1/runtimes/{id}/ipc/");
  // Somebody's runtime of this name is not a pattern.
  CHECK(parse_route("POST", "/v1/runtimes/{id}/ipc").id == "{id}");
}

TEST_CASE("an empty id names no runtime", "[router]") {
  const Route route = parse_route("POST", "/v1/runtimes//ipc");
  CHECK(route.path == "/v1/runtimes/{id}/ipc");
  CHECK(route.id.empty());
}

TEST_CASE("parameters of the query are taken as they stand", "[router]") {
  const Route route = parse_route("POST", "/v1/runtimes/x/dump?type=full&stay=true&flags=4");
  CHECK(route.path == "/v1/runtimes/{id}/dump");
  CHECK(route.parameter("type") == "full");
  CHECK(route.parameter("stay") == "true");
  CHECK(route.parameter("flags") == "4");
  CHECK(route.parameter("Type").empty());
  CHECK(route.query.size() == 3);
}

TEST_CASE("parameters that are odd are still parameters", "[router]") {
  CHECK(parse_route("GET", "/v1/runtimes?").query.empty());
  CHECK(parse_route("GET", "/v1/runtimes?watch").parameter("watch").empty());
  CHECK(parse_route("GET", "/v1/runtimes?watch=true&watch=false").parameter("watch") == "false");
  CHECK(parse_route("GET", "/v1/access?command=a=b").parameter("command") == "a=b");
  CHECK(parse_route("GET", "/v1/access?command=a%3Db").parameter("command") == "a=b");
  CHECK(parse_route("GET", "/v1/access?a=1?b=2").parameter("a") == "1?b=2");
  // Separators in the query are not the path's.
  CHECK(parse_route("GET", "/v1/runtimes/x?y=/ipc").path == "/v1/runtimes/{id}/");
}
