#include <limits>

#include <catch2/catch.hpp>

#include "router/readers/reader_frames.hpp"

using namespace farport;
using namespace farport::router;

namespace {

events::Measurement latency() {
  events::Measurement measurement;
  measurement.is_meter = true;
  measurement.provider = "Orders";
  measurement.name = "latency";
  measurement.display_name = "Latency \"of orders\"";
  measurement.unit = "ms";
  measurement.tags = "route=/,status=200";
  measurement.labels = {{"route", "/"}, {"status", "200"}};
  measurement.kind = events::Measurement::Kind::histogram;
  measurement.value = 12;
  measurement.sum = 34.5;
  measurement.quantiles = {{0.5, 1}, {0.99, 7.25}};
  measurement.interval = 1;
  return measurement;
}

}  // namespace

TEST_CASE("a measurement comes out of its frame as it was", "[readers]") {
  const auto text = encode_measurement(latency());
  REQUIRE(text);
  const auto read = decode_measurement(*text);
  REQUIRE(read);
  CHECK(read->is_meter);
  CHECK(read->provider == "Orders");
  CHECK(read->display_name == latency().display_name);
  CHECK(read->tags == latency().tags);
  CHECK(read->labels == latency().labels);
  CHECK(read->kind == events::Measurement::Kind::histogram);
  CHECK(read->value == 12);
  CHECK_FALSE(read->total);
  CHECK(read->sum == 34.5);
  CHECK(read->quantiles == latency().quantiles);
}

TEST_CASE("what no measurement has is in no frame, and is not taken out of one", "[readers]") {
  events::Measurement measurement = latency();
  measurement.quantiles.resize(17);
  CHECK_FALSE(encode_measurement(measurement));
  measurement = latency();
  measurement.tags.assign(2000, 'x');
  CHECK_FALSE(encode_measurement(measurement));
  std::string text = *encode_measurement(latency());
  CHECK(decode_measurement(text));
  CHECK_FALSE(decode_measurement(text.substr(1)));
  CHECK_FALSE(decode_measurement(text + std::string(20'000, ' ')));
  text.replace(text.find("\"kind\":3"), 8, "\"kind\":4");
  CHECK_FALSE(decode_measurement(text));
  for (const char* other : {"", "[]", "{}", "7", "{\"kind\":"}) CHECK_FALSE(decode_measurement(other));
}

TEST_CASE("a value that is no number in JSON is none", "[readers]") {
  events::Measurement measurement = latency();
  measurement.sum = std::numeric_limits<double>::infinity();
  measurement.quantiles = {{0.5, std::numeric_limits<double>::quiet_NaN()}};
  const auto read = decode_measurement(encode_measurement(measurement).value());
  REQUIRE(read);
  CHECK_FALSE(read->sum);
  CHECK(read->quantiles.empty());
}
