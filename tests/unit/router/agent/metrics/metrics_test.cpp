#include "router/agent/metrics/metrics.hpp"

#include <catch2/catch.hpp>

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

TEST_CASE("a histogram's buckets have all that were shorter, too", "[router]") {
  using namespace std::chrono_literals;
  farport::transport::DurationHistogram turns(farport::transport::Loop::kStallBounds);
  turns.record(0ns);
  turns.record(1ms);
  turns.record(1ms + 1ns);
  turns.record(250ms);
  turns.record(1500ms);
  MetricsText text;
  text.histogram("farport_loop_stall_seconds", "Turns.", turns);
  CHECK(text.take() ==
        "# HELP farport_loop_stall_seconds Turns.\n# TYPE farport_loop_stall_seconds histogram\n"
        "farport_loop_stall_seconds_bucket{le=\"0.001\"} 2\n"
        "farport_loop_stall_seconds_bucket{le=\"0.002\"} 3\n"
        "farport_loop_stall_seconds_bucket{le=\"0.005\"} 3\n"
        "farport_loop_stall_seconds_bucket{le=\"0.01\"} 3\n"
        "farport_loop_stall_seconds_bucket{le=\"0.02\"} 3\n"
        "farport_loop_stall_seconds_bucket{le=\"0.05\"} 3\n"
        "farport_loop_stall_seconds_bucket{le=\"0.1\"} 3\n"
        "farport_loop_stall_seconds_bucket{le=\"0.2\"} 3\n"
        "farport_loop_stall_seconds_bucket{le=\"0.5\"} 4\n"
        "farport_loop_stall_seconds_bucket{le=\"1\"} 4\n"
        "farport_loop_stall_seconds_bucket{le=\"+Inf\"} 5\n"
        "farport_loop_stall_seconds_sum 1.752000001\n"
        "farport_loop_stall_seconds_count 5\n");
}

TEST_CASE("a histogram may have buckets of its own", "[router]") {
  using namespace std::chrono_literals;
  static constexpr std::array<std::chrono::milliseconds, 2> kBounds{1s, 1min};
  farport::transport::DurationHistogram times(kBounds);
  times.record(1s);
  times.record(30s);
  times.record(2min);
  MetricsText text;
  text.histogram("farport_session_duration_seconds", "Sessions.", times);
  CHECK(text.take() ==
        "# HELP farport_session_duration_seconds Sessions.\n"
        "# TYPE farport_session_duration_seconds histogram\n"
        "farport_session_duration_seconds_bucket{le=\"1\"} 1\n"
        "farport_session_duration_seconds_bucket{le=\"60\"} 2\n"
        "farport_session_duration_seconds_bucket{le=\"+Inf\"} 3\n"
        "farport_session_duration_seconds_sum 151\n"
        "farport_session_duration_seconds_count 3\n");
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
