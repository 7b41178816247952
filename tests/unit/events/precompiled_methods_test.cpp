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

/// The names at an address, as a reader of the recording finds them.
std::string name_at(const PrecompiledMethods& methods, std::uint64_t address) {
  MethodTable table;
  for (const auto& load : methods.loads()) {
    SampleEvent made(std::string(PrecompiledMethods::kMethodLoad.provider),
                     PrecompiledMethods::kMethodLoad.event_id);
    made.payload.bytes(load);
    table.add(made.event());
  }
  return table.name_of(address);
}

}  // namespace

TEST_CASE("code that was compiled ahead of time lasts up to the next code", "[events]") {
  PrecompiledMethods methods;
  methods.on_event(first_use(0x3000, "Third").event());
  methods.on_event(first_use(0x1000, "First").event());
  SampleEvent named(kRundownProvider, 144);
  named.payload.u64(1)
      .u64(9)
      .u64(0x2000)
      .u32(0x10)
      .u32(0)
      .u32(0)
      .utf16("Orders.Pricing")
      .utf16("Second")
      .utf16("()");
  methods.on_event(named.event());
  CHECK(name_at(methods, 0xFFF) == "0xfff");
  CHECK(name_at(methods, 0x1000) == "Orders.Pricing.First()");
  CHECK(name_at(methods, 0x1FFF) == "Orders.Pricing.First()");
  CHECK(name_at(methods, 0x2000) == "0x2000");
  CHECK(name_at(methods, 0x3000) == "Orders.Pricing.Third()");
  CHECK(name_at(methods, 0x300000) == "0x300000");
  CHECK(methods.loads().size() == 2);
}

TEST_CASE("what the recording names anyway is not named again", "[events]") {
  PrecompiledMethods methods;
  SampleEvent named(kRuntimeProvider, 143);
  named.payload.u64(1)
      .u64(9)
      .u64(0x1000)
      .u32(0x10)
      .u32(0)
      .u32(0)
      .utf16("Orders.Pricing")
      .utf16("First")
      .utf16("()");
  SECTION("whichever comes first") {
    methods.on_event(first_use(0x1000, "First").event());
    methods.on_event(named.event());
  }
  SECTION("") {
    methods.on_event(named.event());
    methods.on_event(first_use(0x1000, "First").event());
  }
  CHECK(methods.loads().empty());
}

TEST_CASE("first uses without an end take only so much memory", "[events]") {
  PrecompiledMethods methods;
  const std::string name(10'000, 'n');
  for (std::uint64_t at = 1; at < 2'000; ++at) methods.on_event(first_use(at << 12, name).event());
  const auto loads = methods.loads();
  CHECK(loads.size() > 100);
  CHECK(loads.size() * 2 * name.size() <= PrecompiledMethods::kMaxBytes);
  SampleEvent cut(kRuntimeProvider, 159);
  cut.payload.u64(1).utf16("Orders");
  methods.on_event(cut.event());
  CHECK(methods.loads().size() == loads.size());
}
