#include "events/measurements.hpp"

#include <catch2/catch.hpp>

#include "events/lines.hpp"
#include "events/providers.hpp"
#include "tests/unit/events/sample_event.hpp"

using namespace farport;
using namespace farport::events;
using test::SampleEvent;

namespace {

const nettrace::TraceHeader kTrace;

SampleEvent meter(std::string event, std::string_view session = "SHARED") {
  SampleEvent made(kMetricsProvider, 4, std::move(event));
  made.text("sessionId", session)
      .text("meterName", "Orders")
      .text("meterVersion", "")
      .text("instrumentName", "priced");
  made.text("unit", "{order}").text("tags", "kind=large");
  return made;
}

auto read(SampleEvent event) {
  return MeasurementDecoder("SHARED").read(kTrace, event.event());
}

/// An instrument of the meter Orders that the runtime announces.
SampleEvent announcement(std::optional<int> number, std::string_view own, std::string_view of_meter,
                         std::string_view version = "",
                         const std::string& event = "BeginInstrumentReporting") {
  SampleEvent made(kMetricsProvider, 7, event);
  made.text("sessionId", "SHARED").text("meterName", "Orders").text("meterVersion", version);
  made.text("instrumentName", "queue").text("instrumentTags", own).text("meterTags", of_meter);
  if (number) made.number("instrumentId", *number);
  return made;
}

/// A value of the instrument with this number.
SampleEvent value_of(std::optional<int> number, std::string_view tags = "") {
  SampleEvent made(kMetricsProvider, 5, "GaugeValuePublished");
  made.text("sessionId", "SHARED").text("meterName", "Orders").text("instrumentName", "queue");
  made.text("unit", "").text("tags", tags).text("lastValue", "7");
  if (number) made.number("instrumentId", *number);
  return made;
}

}  // namespace

TEST_CASE("of what a runtime has to tell ten things are said, and that there are more", "[events]") {
  const auto all = [](const Measurement&) { return true; };
  MeasurementReader reader("SHARED", all);
  for (int i = 0; i < 1000; ++i) {
    SampleEvent error = meter("ObservableInstrumentCallbackError");
    error.text("errorMessage", "error " + std::to_string(i / 2));
    reader.on_event(error.event());
  }
  const auto notices = reader.take_notices();
  REQUIRE(notices.size() == kMaxNotices + 1);
  CHECK(notices[1] == "an instrument of the application fails: error 1");
  CHECK(notices.back() == "the runtime has more to tell, which is left out");
}

TEST_CASE("a meter's counter has grown by so much", "[events]") {
  const auto got = read(meter("CounterRateValuePublished").text("rate", "12.5").text("value", "100"));
  REQUIRE(std::holds_alternative<Measurement>(got));
  const auto& made = std::get<Measurement>(got);
  CHECK(made.is_meter);
  CHECK(made.kind == Measurement::Kind::rate);
  CHECK(made.value == 12.5);
  CHECK(made.total == 100);
  CHECK(made.tags == "kind=large");
  CHECK(
      to_json(made) ==
      R"({"time":"1970-01-01T00:00:00.000000Z","provider":"Orders","name":"priced","unit":"{order}","tags":"kind=large",)"
      R"("kind":"rate","increase":12.5,"value":100.0})");
}

TEST_CASE("instruments of one name are told apart by their tags and their meters'", "[events]") {
  MeasurementDecoder decoder("SHARED");
  CHECK(std::holds_alternative<std::monostate>(decoder.read(kTrace, announcement(1, "", "bind=::").event())));
  std::ignore = decoder.read(kTrace, announcement(2, "kind=x", "bind=0.0.0.0").event());
  std::ignore = decoder.read(kTrace, announcement(3, "", "bind=::", "2.0").event());
  std::ignore = decoder.read(kTrace, announcement(4, "", "bind=::", "2.0").event());
  const auto tags = [&](int number, std::string_view own = "") {
    return std::get<Measurement>(decoder.read(kTrace, value_of(number, own).event())).tags;
  };
  CHECK(tags(1) == "bind=::");
  CHECK(tags(1, "a=b") == "a=b,bind=::");
  CHECK(tags(2) == "kind=x,bind=0.0.0.0");
  CHECK(tags(3) == "bind=::,meter.version=2.0");
  CHECK(tags(4) == "bind=::,meter.number=2");
  CHECK(tags(5).empty());
  const auto got = std::get<Measurement>(decoder.read(kTrace, value_of(2, "bind=own").event()));
  CHECK(got.labels == Tags{{"bind", "own"}, {"kind", "x"}});
}

TEST_CASE("an instrument that is made anew has the tags of the one before", "[events]") {
  MeasurementDecoder decoder("SHARED");
  for (int i = 1; i < 5000; ++i) {
    std::ignore = decoder.read(kTrace, announcement(i, "", "bind=::").event());
    const auto got = decoder.read(kTrace, value_of(i).event());
    REQUIRE(std::get<Measurement>(got).tags == "bind=::");
    std::ignore = decoder.read(kTrace, announcement(i, "", "bind=::", "", "EndInstrumentReporting").event());
  }
  // Once it is gone its number says nothing.
  CHECK(std::get<Measurement>(decoder.read(kTrace, value_of(7).event())).tags.empty());
}

TEST_CASE("what is announced again for another tool is the same instrument", "[events]") {
  MeasurementDecoder decoder("SHARED");
  for (int i = 0; i < 3; ++i)
    CHECK(std::holds_alternative<std::monostate>(
        decoder.read(kTrace, announcement({}, "a=b", "bind=::").event())));
  CHECK(std::get<Measurement>(decoder.read(kTrace, value_of({}).event())).tags == "a=b,bind=::");
  std::ignore =
      decoder.read(kTrace, announcement({}, "a=b", "bind=::", "", "EndInstrumentReporting").event());
  CHECK(std::holds_alternative<std::monostate>(
      decoder.read(kTrace, announcement({}, "", "bind=other").event())));
  CHECK(std::get<Measurement>(decoder.read(kTrace, value_of({}).event())).tags == "bind=other");
}

TEST_CASE("a runtime that numbers no instruments can't tell two of one name apart, which is said",
          "[events]") {
  MeasurementDecoder decoder("SHARED");
  std::ignore = decoder.read(kTrace, announcement({}, "", "bind=::").event());
  const auto tags = [&] { return std::get<Measurement>(decoder.read(kTrace, value_of({}).event())).tags; };
  CHECK(tags() == "bind=::");
  const auto told = decoder.read(kTrace, announcement({}, "", "bind=0.0.0.0").event());
  REQUIRE(std::holds_alternative<MeterNotice>(told));
  CHECK_THAT(std::get<MeterNotice>(told).text, Catch::Contains("several meters called Orders"));
  CHECK(tags().empty());
}

TEST_CASE("any number of instruments may be announced", "[events]") {
  MeasurementDecoder decoder("SHARED");
  for (int i = 0; i < 5000; ++i) std::ignore = decoder.read(kTrace, announcement(i, "", "a=b").event());
  CHECK(std::holds_alternative<Measurement>(decoder.read(kTrace, value_of(4999).event())));
}

TEST_CASE("older runtimes don't say what a counter stands at", "[events]") {
  const auto got = read(meter("CounterRateValuePublished").text("rate", "3"));
  REQUIRE(std::holds_alternative<Measurement>(got));
  CHECK_FALSE(std::get<Measurement>(got).total);
}

TEST_CASE("a histogram's quantiles", "[events]") {
  const auto got = read(
      meter("HistogramValuePublished").text("quantiles", "0.5=10;0.95=1e2;junk;=;0.99=x").number("count", 7));
  REQUIRE(std::holds_alternative<Measurement>(got));
  const auto& made = std::get<Measurement>(got);
  CHECK(made.quantiles == std::vector<std::pair<double, double>>{{0.5, 10}, {0.95, 100}});
  CHECK(made.value == 7);
}

TEST_CASE("values that are none, and other sessions', are left out", "[events]") {
  CHECK(std::holds_alternative<std::monostate>(read(meter("CounterRateValuePublished").text("rate", ""))));
  CHECK(std::holds_alternative<std::monostate>(read(meter("GaugeValuePublished"))));
  CHECK(std::holds_alternative<std::monostate>(
      read(meter("GaugeValuePublished", "other").text("lastValue", "1"))));
  CHECK(std::holds_alternative<std::monostate>(read(SampleEvent("Orders", 1, "Priced"))));
  CHECK(std::holds_alternative<std::monostate>(read(SampleEvent("Orders", 1, "EventCounters"))));
}

TEST_CASE("what the runtime says in place of values", "[events]") {
  SampleEvent event(kMetricsProvider, 17, "MultipleSessionsConfiguredIncorrectlyError");
  event.text("sharedIdentifier", "SHARED")
      .text("expectedMaxHistograms", "10")
      .text("actualMaxHistograms", "20");
  event.text("expectedMaxTimeSeries", "100").text("actualMaxTimeSeries", "1000");
  event.text("expectedRefreshInterval", "5").text("actualRefreshInterval", "1");
  const auto got = read(event);
  REQUIRE(std::holds_alternative<MeterNotice>(got));
  CHECK(std::get<MeterNotice>(got).fatal);
  CHECK_THAT(std::get<MeterNotice>(got).text, Catch::Contains("every 5 s") && Catch::Contains("100 series"));
}

TEST_CASE("an EventCounter's interval is the one that was asked for", "[events]") {
  const auto interval = [](std::string_view series) {
    SampleEvent made("Orders", 4, "EventCounters");
    made.text("Name", "priced").text("IntervalSec", "0.99937").text("Series", series).number("Increment", 5);
    // They are in a structure in a structure without a name.
    nettrace::Field payload{"Payload", nettrace::FieldType::structure, 0, std::move(made.definition.fields)};
    made.definition.fields = {{"", nettrace::FieldType::structure, 0, {std::move(payload)}}};
    const auto got = read(std::move(made));
    REQUIRE(std::holds_alternative<Measurement>(got));
    return std::get<Measurement>(got).interval;
  };
  CHECK(interval("Interval=1000") == 1);
  CHECK(interval("Interval=250") == 0.25);
  CHECK(interval("Interval=0") == 0.99937);
  CHECK(interval("") == 0.99937);
}
