#include "router/recordings/recordings.hpp"

#include <catch2/catch.hpp>

using namespace farport;
using namespace farport::router;

TEST_CASE("logs by their levels and categories", "[collect]") {
  const auto filter = [](std::string_view level, std::vector<std::string> categories) {
    const auto wanted = wanted_logs(level, categories);
    return wanted ? *wanted->providers.front().filter : "";
  };
  CHECK(filter("", {}) == "FilterSpecs=\"UseAppFilters\"");
  CHECK(filter("debug", {}) == "FilterSpecs=\"*:Debug\"");
  CHECK(filter("", {"Orders.*"}) == "FilterSpecs=\"Orders.*:Information\"");
  CHECK(filter("Warning", {"Orders.*", "Shop:trace"}) == "FilterSpecs=\"Orders.*:Warning;Shop:Trace\"");
  CHECK(filter("loud", {}).empty());
  for (const char* wrong : {"", ":Debug", "a:loud", "a;b", "a\"b", "a=b"}) {
    INFO(wrong);
    CHECK(filter("", {wrong}).empty());
  }
}

TEST_CASE("a runtime that never reports its heap is not asked for it") {
  const auto asked = [](const char* version, bool native) {
    Runtime runtime;
    runtime.version = version;
    runtime.native = native;
    return wanted_heap(runtime).has_value();
  };
  for (const char* version : {"8.0.31", "9.0.20", "10.0.12", "11.0.0"}) CHECK(asked(version, false));
  CHECK_FALSE(asked("8.0.31", true));
  CHECK_FALSE(asked("9.0.20", true));
  CHECK(asked("10.0.12", true));
}
