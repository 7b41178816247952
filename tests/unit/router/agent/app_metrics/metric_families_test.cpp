#include <catch2/catch.hpp>

#include "router/agent/app_metrics/app_metrics.hpp"

using namespace farport;
using namespace farport::router;
using events::Measurement;
using std::chrono::minutes;

namespace {

Measurement measured(std::string name, Measurement::Kind kind, double value, std::string tags = {}) {
  Measurement made;
  made.is_meter = true;
  made.provider = "Orders";
  made.name = std::move(name);
  made.kind = kind;
  made.value = value;
  made.labels = events::TagReader('=').read(tags);
  made.tags = std::move(tags);
  return made;
}

Runtime orders() {
  Runtime runtime;
  runtime.id = "7";
  runtime.name = "or\"ders";
  runtime.pid = 1;
  return runtime;
}

std::string text_of(const MetricTable& table, MetricTable::Clock::time_point now) {
  MetricFamilies families;
  table.for_each(now, [&](const MetricSeries& series) { families.add(orders(), series); });
  return families.text();
}

constexpr const char* kLabels = R"(id="7",runtime="or\"ders",pid="1",meter="Orders")";

}  // namespace

TEST_CASE("what applications count is said as Prometheus has it", "[app_metrics]") {
  MetricTable table(10);
  const auto now = MetricTable::Clock::now();
  table.take(measured("orders.priced", Measurement::Kind::rate, 3, "kind=large,runtime=x,quantile=1"), now);
  table.take(measured("orders.priced", Measurement::Kind::rate, 2, "kind=large,runtime=x,quantile=1"), now);
  Measurement sizes = measured("2sizes", Measurement::Kind::histogram, 2);
  sizes.sum = 5;
  sizes.quantiles = {{0.5, 2}, {0.99, 3}};
  table.take(sizes, now);
  table.take(sizes, now);
  Measurement queue = measured("queue", Measurement::Kind::up_down, -1);
  queue.unit = "{order}\n";
  table.take(queue, now);
  const std::string labels = kLabels;
  CHECK(text_of(table, now) ==
        "# HELP _2sizes Told by applications.\n# TYPE _2sizes summary\n"
        "_2sizes{" +
            labels + ",quantile=\"0.5\"} 2\n_2sizes{" + labels +
            ",quantile=\"0.99\"} 3\n"
            "_2sizes_sum{" +
            labels + "} 10\n_2sizes_count{" + labels +
            "} 4\n"
            "# HELP orders_priced_total Told by applications.\n# TYPE orders_priced_total counter\n"
            "orders_priced_total{" +
            labels +
            ",exported_quantile=\"1\",exported_runtime=\"x\",kind=\"large\"} 5\n"
            "# HELP queue Told by applications, in {order}\\n.\n# TYPE queue gauge\nqueue{" +
            labels + "} -1\n");
}

TEST_CASE("a total that the runtime says is taken as it is", "[app_metrics]") {
  MetricTable table(10);
  Measurement priced = measured("priced", Measurement::Kind::rate, 3);
  priced.total = 100;
  table.take(priced, {});
  table.take(priced, {});
  CHECK(text_of(table, {}).ends_with("} 100\n"));
}

TEST_CASE("a name stands for one kind", "[app_metrics]") {
  MetricTable table(10);
  table.take(measured("a.total", Measurement::Kind::gauge, 1), {});
  table.take(measured("a", Measurement::Kind::rate, 2), {});
  const std::string text = text_of(table, {});
  CHECK(text.find("# TYPE a_total counter") != std::string::npos);
  CHECK(text.find("# TYPE a_total_gauge gauge") != std::string::npos);
}

TEST_CASE("no set of labels stands there twice", "[app_metrics]") {
  MetricTable table(10);
  for (const char* name : {"a.b", "a_b", "a-b"})
    table.take(measured(name, Measurement::Kind::gauge, 1, "empty="), {});
  table.take(measured("a.b", Measurement::Kind::gauge, 1), {});
  const std::string text = text_of(table, {});
  for (const char* label : {"} 1", ",series=\"2\"} 1", ",series=\"3\"} 1", ",series=\"4\"} 1"})
    CHECK_THAT(text, Catch::Contains("a_b{" + std::string(kLabels) + label));
}

TEST_CASE("an application's tags take no label's place", "[app_metrics]") {
  MetricTable table(10);
  for (const char* name : {"a.b", "a_b"})
    table.take(measured(name, Measurement::Kind::gauge, 1, "series=x,__name__=y"), {});
  const std::string text = text_of(table, {});
  const std::string tags = R"(,exported___name__="y",exported_series="x")";
  CHECK_THAT(text, Catch::Contains("a_b{" + std::string(kLabels) + tags + "} 1"));
  CHECK_THAT(text, Catch::Contains("a_b{" + std::string(kLabels) + tags + ",series=\"2\"} 1"));
}

TEST_CASE("two tags that become one label have both values", "[app_metrics]") {
  MetricTable table(10);
  table.take(measured("a", Measurement::Kind::gauge, 1, "user.name=x,user_name=y,exported_id=1,id=2"), {});
  CHECK_THAT(text_of(table, {}), Catch::Contains(",exported_id=\"1;2\",user_name=\"x;y\"} 1"));
}

TEST_CASE("a table of series is bounded", "[app_metrics]") {
  MetricTable table(2);
  const MetricTable::Clock::time_point now{};
  table.take(measured("a", Measurement::Kind::gauge, 1), now);
  table.take(measured("b", Measurement::Kind::gauge, 1), now + minutes(4));
  table.take(measured("c", Measurement::Kind::gauge, 1), now + minutes(4));
  CHECK(table.size() == 2);
  // What has not been told for long gives way, and is not shown.
  CHECK(text_of(table, now + minutes(6)).find("# TYPE a ") == std::string::npos);
  table.take(measured("c", Measurement::Kind::gauge, 1), now + minutes(6));
  const std::string text = text_of(table, now + minutes(6));
  CHECK(text.find("# TYPE b ") != std::string::npos);
  CHECK(text.find("# TYPE c ") != std::string::npos);
}
