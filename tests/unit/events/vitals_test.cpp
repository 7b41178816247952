#include <catch2/catch.hpp>

#include "events/measurements.hpp"

using namespace farport::events;

namespace {

Measurement measured(std::string name, std::string tags, double value) {
  Measurement made;
  made.name = std::move(name);
  made.tags = std::move(tags);
  made.value = value;
  return made;
}

}  // namespace

TEST_CASE("vitals of meters", "[events]") {
  VitalsReader reader(2, 4);
  CHECK_FALSE(reader.vitals().cpu);
  reader.take(measured("dotnet.process.cpu.time", "cpu.mode=user", 1));
  reader.take(measured("dotnet.process.cpu.time", "cpu.mode=system", 0.5));
  reader.take(measured("dotnet.exceptions", "error.type=A", 4));
  reader.take(measured("dotnet.exceptions", "error.type=B", 2));
  reader.take(measured("dotnet.gc.last_collection.heap.size", "gc.heap.generation=gen0", 100));
  reader.take(measured("dotnet.gc.last_collection.heap.size", "gc.heap.generation=loh", 50));
  Measurement threads = measured("dotnet.thread_pool.thread.count", "", 0);
  threads.total = 8;
  reader.take(threads);
  Measurement slow = measured("http.server.request.duration", "http.route=/", 10);
  slow.quantiles = {{0.5, 0.1}, {0.99, 0.3}};
  reader.take(slow);
  const Vitals vitals = reader.vitals();
  CHECK(vitals.cpu == 75);
  CHECK(vitals.exceptions == 3);
  CHECK(vitals.heap == 150);
  CHECK(vitals.generations.at("loh") == 50);
  CHECK(vitals.threads == 8);
  CHECK(vitals.requests == 5);
  CHECK(vitals.slow_request == 0.3);
  CHECK_FALSE(vitals.queued);
}

TEST_CASE("vitals of EventCounters", "[events]") {
  VitalsReader reader(1, 4);
  reader.take(measured("cpu-usage", "", 25));
  reader.take(measured("working-set", "", 80));
  reader.take(measured("gen-0-size", "", 7));
  const Vitals vitals = reader.vitals();
  CHECK(vitals.cpu == 100);
  CHECK(vitals.working_set == 80e6);
  CHECK(vitals.generations.at("gen0") == 7);
}

TEST_CASE("who does not say how many processors there are has no share of them", "[events]") {
  VitalsReader reader(1, 65'535);
  reader.take(measured("cpu-usage", "", 25));
  reader.take(measured("working-set", "", 80));
  CHECK_FALSE(reader.knows_processors());
  CHECK_FALSE(reader.vitals().cpu);
  CHECK(reader.vitals().working_set == 80e6);
}

TEST_CASE("an application with many tags is not held whole", "[events]") {
  VitalsReader reader(1, 1);
  for (std::size_t i = 0; i < 2 * kMaxVitalMeasurements; ++i)
    reader.take(measured("dotnet.exceptions", std::to_string(i), 1));
  CHECK(reader.vitals().exceptions == kMaxVitalMeasurements);
}
