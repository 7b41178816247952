#include "events/precompiled_methods.hpp"

#include <catch2/catch.hpp>

#include "events/methods.hpp"
#include "events/providers.hpp"
#include "tests/unit/events/sample_event.hpp"

using namespace farport;
using namespace farport::events;
using test::SampleEvent;

namespace {

SampleEvent first_use(std::uint64_t begin, std::string_view name) {
  SampleEvent made(kRuntimeProvider, 159);
  made.payload.u64(1).utf16("Orders.Pricing").utf16(name).utf16("void ()").u64(begin).u16(0);
  return made;
}

/// A method that the recording names anyway.
SampleEvent named(std::string provider, std::uint32_t id, std::uint64_t begin) {
  SampleEvent made(std::move(provider), id);
  made.payload.u64(1).u64(9).u64(begin).u32(0x10).u32(0).u32(0);
  made.payload.utf16("Orders.Pricing").utf16("Named").utf16("()");
  return made;
}

/// What a reader of the recording finds.
MethodTable table_of(PrecompiledMethods& methods) {
  MethodTable table;
  for (auto loads = methods.take_loads(); !loads.empty(); loads = methods.take_loads()) {
    for (const auto& load : loads) {
      SampleEvent made(std::string(kMethodLoad.provider), kMethodLoad.event_id);
      made.payload.bytes(load);
      table.add(made.event());
    }
  }
  return table;
}

}  // namespace

TEST_CASE("code that was compiled ahead of time lasts up to the next code", "[events]") {
  PrecompiledMethods methods;
  methods.on_event(first_use(0x3000, "Third").event());
  methods.on_event(first_use(0x1000, "First").event());
  methods.on_event(named(kRundownProvider, 144, 0x2000).event());
  methods.on_event(first_use(0, "Nowhere").event());
  const MethodTable table = table_of(methods);
  CHECK(table.name_of(0xFFF) == "0xfff");
  CHECK(table.name_of(0x1000) == "Orders.Pricing.First()");
  CHECK(table.name_of(0x1FFF) == "Orders.Pricing.First()");
  CHECK(table.name_of(0x2000) == "0x2000");
  CHECK(table.name_of(0x3000) == "Orders.Pricing.Third()");
  CHECK(table.name_of(0x300000) == "0x300000");
  CHECK(table.size() == 2);
}

TEST_CASE("what the recording names anyway is not named again", "[events]") {
  PrecompiledMethods methods;
  SampleEvent load = named(kRuntimeProvider, 143, 0x1000);
  SECTION("whichever comes first") {
    methods.on_event(first_use(0x1000, "First").event());
    methods.on_event(load.event());
  }
  SECTION("") {
    methods.on_event(load.event());
    methods.on_event(first_use(0x1000, "First").event());
  }
  CHECK(methods.take_loads().empty());
}

TEST_CASE("first uses without an end take only so much memory", "[events]") {
  PrecompiledMethods methods;
  const std::string name(10'000, 'n');
  for (std::uint64_t at = 1; at < 2'000; ++at) methods.on_event(first_use(at << 12, name).event());
  SampleEvent cut(kRuntimeProvider, 159);
  cut.payload.u64(1).utf16("Orders");
  methods.on_event(cut.event());
  const std::size_t kept = table_of(methods).size();
  CHECK(kept > 100);
  CHECK(kept * 2 * name.size() <= PrecompiledMethods::kMaxBytes);
}
