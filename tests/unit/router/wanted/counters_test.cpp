#include "router/wanted/counters.hpp"

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
