#include <catch2/catch.hpp>

#include "router/agent/metrics/metrics_text.hpp"

using namespace farport::router;

TEST_CASE("metrics are written as families of samples", "[router]") {
  MetricsText text;
  LabelledCounter counter({"b", "a"});
  counter.add("b");
  counter.add("c");
  text.family("farport_things", "gauge", "Things.")
      .sample(std::uint64_t{18446744073709551615U})
      .family("farport_done_total", "counter", "Done.")
      .samples("what", counter, MetricsText::label("how", "well"))
      .family("farport_seconds", "gauge", "Time.")
      .sample(0.25);
  CHECK(text.take() ==
        "# HELP farport_things Things.\n# TYPE farport_things gauge\nfarport_things 18446744073709551615\n"
        "# HELP farport_done_total Done.\n# TYPE farport_done_total counter\n"
        "farport_done_total{what=\"a\",how=\"well\"} 0\n"
        "farport_done_total{what=\"b\",how=\"well\"} 1\n"
        "farport_done_total{what=\"c\",how=\"well\"} 1\n"
        "# HELP farport_seconds Time.\n# TYPE farport_seconds gauge\nfarport_seconds 0.25\n");
}

TEST_CASE("what would end a label's value is escaped", "[router]") {
  CHECK(MetricsText::label("path", "a\\b\"c\nd") == R"(path="a\\b\"c\nd")");
}

TEST_CASE("traffic is what relays have carried, those under way included", "[router]") {
  Traffic traffic;
  {
    Traffic::Relay ended(traffic);
    ended.bytes.to_runtime = 10;
    ended.bytes.to_tool = 100;
  }
  Traffic::Relay under_way(traffic);
  under_way.bytes.to_tool = 5;
  CHECK(traffic.total().to_runtime == 10);
  CHECK(traffic.total().to_tool == 105);
}
