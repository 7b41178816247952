#include <catch2/catch.hpp>

#include "router/agent/admin/admin_server.hpp"

using namespace farport::router;

namespace {

AdminSources sources(const std::vector<std::string>& reasons) {
  return {[reasons] { return reasons; }, [] { return std::string("a 1\n"); }};
}

Http1Answer answer_to(const std::string& method, const std::string& path) {
  return answer_admin(sources({}), {method, path, true});
}

}  // namespace

TEST_CASE("health, readiness and metrics are each at a path of their own", "[router]") {
  CHECK(answer_to("GET", "/healthz").status == 200);
  CHECK(answer_to("GET", "/healthz").body == "ok\n");
  CHECK(answer_to("HEAD", "/readyz").status == 200);
  CHECK(answer_to("GET", "/metrics").body == "a 1\n");
  CHECK(answer_to("GET", "/metrics").content_type == "text/plain; version=0.0.4; charset=utf-8");
}

TEST_CASE("there is nothing else, and nothing can be changed", "[router]") {
  for (const char* path : {"", "/", "/metrics/", "/v1/runtimes", "/healthz/../metrics", "*"}) {
    CHECK(answer_to("GET", path).status == 404);
  }
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "CONNECT"}) {
    CHECK(answer_to(method, "/readyz").status == 405);
  }
}

TEST_CASE("an agent that is not ready says why, a line for each reason, and is healthy", "[router]") {
  const AdminSources two = sources({"it has expired", "a\nb\x1b"});
  const Http1Answer answer = answer_admin(two, {"GET", "/readyz", true});
  CHECK(answer.status == 503);
  CHECK(answer.body == "it has expired\na\\nb\\x1b\n");
  CHECK(answer_admin(two, {"GET", "/healthz", true}).status == 200);
}
