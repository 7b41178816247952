#include "router/recordings/counters.hpp"

#include <catch2/catch.hpp>

using namespace farport;
using namespace farport::router;

namespace {

events::Measurement measured(std::string provider, std::string name, bool is_meter) {
  events::Measurement made;
  made.provider = std::move(provider);
  made.name = std::move(name);
  made.is_meter = is_meter;
  return made;
}

std::string asked(const std::vector<std::string>& texts, std::string_view version) {
  std::string all;
  for (const ipc::Provider& each : CounterSelection::parse(texts)->wanted(version, {}).providers)
    all += each.name + "{" + each.filter->substr(0, each.filter->find(";Refresh")) + "} ";
  return all;
}

}  // namespace

TEST_CASE("counters in the words of dotnet-counters", "[collect]") {
  CHECK(asked({"Orders"}, "10.0.0") ==
        "Orders{EventCounterIntervalSec=1} System.Diagnostics.Metrics{SessionId=SHARED;Metrics=Orders} ");
  CHECK(asked({"Orders[priced,queue],Shop"}, "10.0.0") ==
        "Orders{EventCounterIntervalSec=1} Shop{EventCounterIntervalSec=1} "
        "System.Diagnostics.Metrics{SessionId=SHARED;Metrics=Orders\\priced,Orders\\queue,Shop} ");
  CHECK(asked({"EventCounters\\Orders"}, "10.0.0") == "Orders{EventCounterIntervalSec=1} ");
  CHECK_THAT(asked({}, "10.0.1"), !Catch::StartsWith("System.Runtime{"));
  CHECK_THAT(asked({}, "8.0.31"), Catch::StartsWith("System.Runtime{"));
  for (const char* wrong : {"", "a,", "a;b", "a[b", "a[]", "a[b]c", "\"", "a=b", "EventCounters\\", "a\\b"}) {
    INFO(wrong);
    CHECK_FALSE(CounterSelection::parse({wrong}));
  }
}

TEST_CASE("other tools' counters are not shown, nor the same ones twice", "[collect]") {
  auto selection = CounterSelection::parse({"Orders[priced]", "EventCounters\\Shop"});
  REQUIRE(selection);
  CHECK(selection->takes(measured("Orders", "priced", false)));
  CHECK(selection->takes(measured("Orders", "priced", true)));
  CHECK_FALSE(selection->takes(measured("Orders", "priced", false)));
  CHECK_FALSE(selection->takes(measured("Orders", "queue", true)));
  CHECK(selection->takes(measured("Shop", "open", false)));
  CHECK_FALSE(selection->takes(measured("Shop", "open", true)));
  CHECK_FALSE(selection->takes(measured("Else", "priced", true)));
}

TEST_CASE("a runtime serves sessions with its meters together that ask for the same", "[collect]") {
  const CounterLimits limits;
  const auto with_filter = [](std::string filter) {
    ipc::CollectTracing session;
    session.providers.emplace_back();
    session.providers.back().name = "System.Diagnostics.Metrics";
    session.providers.back().filter = std::move(filter);
    return session;
  };
  const auto agrees = [own = meter_agreement(limits)](const ipc::CollectTracing& session) {
    const auto reading = meter_reading(session);
    return reading && reading->agreement == own;
  };
  CHECK(agrees(CounterSelection::parse({"Orders"})->wanted("10.0.0", limits)));
  CHECK_FALSE(meter_reading(CounterSelection::parse({"EventCounters\\Orders"})->wanted("10.0.0", limits)));
  CHECK_FALSE(agrees(CounterSelection::parse({"Orders"})->wanted("10.0.0", {std::chrono::seconds(5)})));
  const std::string rest = ";Metrics=Orders;RefreshInterval=1;MaxTimeSeries=1000;MaxHistograms=20;ClientId=7";
  CHECK(agrees(with_filter("SessionId=SHARED" + rest)));
  // dotnet-counters collect has a session of its own.
  CHECK_FALSE(agrees(with_filter("SessionId=8a2c" + rest)));
  CHECK_FALSE(agrees(with_filter("Metrics=X;OtherSessionId=SHARED" + rest)));
  CHECK_FALSE(agrees(with_filter("")));
}

TEST_CASE("how often meters are collected is read as a runtime reads it", "[collect]") {
  const auto interval_of = [](std::string filter) {
    ipc::CollectTracing session;
    session.providers.emplace_back();
    session.providers.back().name = "System.Diagnostics.Metrics";
    session.providers.back().filter = std::move(filter);
    return meter_reading(session)->interval.count();
  };
  CHECK(interval_of("SessionId=1;RefreshInterval=2.5;Metrics=Orders") == 2.5);
  CHECK(interval_of("RefreshInterval=0.001") == 0.1);
  CHECK(interval_of("RefreshInterval=1e300") == 1e6);
  for (const char* const filter : {"", "Metrics=Orders", "RefreshInterval=", "RefreshInterval=nan",
                                   "RefreshInterval=5x", "OtherRefreshInterval=5"})
    CHECK(interval_of(filter) == 1);
}
