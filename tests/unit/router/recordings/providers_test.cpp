#include "router/recordings/providers.hpp"

#include <catch2/catch.hpp>

using namespace farport;
using namespace farport::router;

TEST_CASE("providers in the words of dotnet-trace", "[collect]") {
  const auto alone = parse_provider("Orders");
  REQUIRE(alone);
  CHECK(alone->name == "Orders");
  CHECK(alone->keywords == 0);
  CHECK(alone->level == 4);
  CHECK_FALSE(alone->filter);
  const auto whole = parse_provider("Orders:0xF00:Warning:Filter=a:b;c=d");
  REQUIRE(whole);
  CHECK(whole->keywords == 0xF00);
  CHECK(whole->level == 3);
  CHECK(whole->filter == "Filter=a:b;c=d");
  CHECK(parse_provider("Orders:ffffffffffffffff")->keywords == ~std::uint64_t{0});
  CHECK(parse_provider("Orders::0")->level == 0);
  CHECK(parse_provider("Orders:::x=y")->filter == "x=y");
  for (const char* wrong : {"", ":1", "Orders:zz", "Orders:1ffffffffffffffff", "Orders:-1", "Orders:1:6",
                            "Orders:1:loud", "Orders:0x"}) {
    INFO(wrong);
    CHECK_FALSE(parse_provider(wrong));
  }
}

TEST_CASE("a recording of profiles and providers", "[collect]") {
  const auto names = [](const Result<ipc::CollectTracing>& recording) {
    std::string all;
    for (const ipc::Provider& each : recording->providers) all += each.name + " ";
    return all;
  };
  const auto plain = recording_of({}, {}, {}, 256);
  REQUIRE(plain);
  CHECK(names(plain) == "Microsoft-Windows-DotNETRuntime Microsoft-DotNETCore-SampleProfiler ");
  CHECK(plain->version == ipc::kCollectTracing2);
  CHECK(plain->rundown);
  CHECK(names(recording_of({}, {"Orders"}, {}, 256)) == "Orders ");
  // What a person says of a provider wins over the profile.
  const auto both = recording_of({"dotnet-common"}, {"Microsoft-Windows-DotNETRuntime:1:5"}, false, 64);
  REQUIRE(both);
  REQUIRE(both->providers.size() == 1);
  CHECK(both->providers[0].keywords == 1);
  CHECK_FALSE(both->rundown);
  CHECK(both->buffer_size_mb == 64);
  const auto collections = recording_of({"gc-collect"}, {}, {}, 256);
  REQUIRE(collections);
  CHECK(collections->version == ipc::kCollectTracing4);
  CHECK(collections->rundown_keyword == 1);
  CHECK(names(recording_of({"gc-collect,database"}, {}, {}, 256)) ==
        "Microsoft-Windows-DotNETRuntime Microsoft-Windows-DotNETRuntimePrivate "
        "System.Threading.Tasks.TplEventSource "
        "Microsoft-Diagnostics-DiagnosticSource ");
  CHECK(names(recording_of({}, {"Orders:1:4,,Billing", "Stock"}, {}, 256)) == "Orders Billing Stock ");
  const auto quoted = recording_of({}, {"Orders:1:4:a=\"b,c\",Billing"}, {}, 256);
  REQUIRE(quoted);
  CHECK(names(quoted) == "Orders Billing ");
  CHECK(quoted->providers[0].filter == "a=\"b,c\"");
  CHECK(names(recording_of({}, {"Orders:1:4:a=\"b,c"}, {}, 256)) == "Orders ");
  const auto wrong = recording_of({"cpu"}, {}, {}, 256);
  REQUIRE_FALSE(wrong);
  CHECK_THAT(wrong.error().message(), Catch::Contains("gc-verbose"));
}
