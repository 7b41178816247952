#include "events/methods.hpp"

#include <catch2/catch.hpp>

#include "events/providers.hpp"
#include "tests/unit/events/sample_event.hpp"

using namespace farport;
using namespace farport::events;
using test::SampleEvent;

namespace {

constexpr std::uint64_t kModule = 9;

SampleEvent method(std::uint64_t begin, std::uint32_t size, std::string_view name,
                   std::string_view signature) {
  SampleEvent made(kRundownProvider, 144);
  made.payload.u64(1).u64(kModule).u64(begin).u32(size).u32(0).u32(0);
  made.payload.utf16("Orders.Pricing").utf16(name).utf16(signature);
  return made;
}

}  // namespace

TEST_CASE("an address is in a method's code or in none", "[events]") {
  MethodTable table;
  table.add(
      method(0x1000, 0x10, "Quote", "instance void  (int32,value class System.Span`1<class System.String>)")
          .event());
  table.add(method(0x2000, 0x10, "Price", "void").event());
  REQUIRE(table.find(0x1000) != nullptr);
  CHECK(table.find(0x100F)->name == "Orders.Pricing.Quote(int32,System.Span`1<System.String>)");
  CHECK(table.find(0x2000)->name == "Orders.Pricing.Price");
  for (const std::uint64_t none : {std::uint64_t{0}, std::uint64_t{0xFFF}, std::uint64_t{0x1010},
                                   std::uint64_t{0x2010}, ~std::uint64_t{0}})
    CHECK(table.find(none) == nullptr);
}

TEST_CASE("a module is known by its file", "[events]") {
  MethodTable table;
  SampleEvent module(kRundownProvider, 154);
  module.payload.u64(kModule).u64(1).u32(0).u32(0).utf16("/app/orders.dll").utf16("");
  table.add(module.event());
  CHECK(table.module_name(kModule) == "orders.dll");
  CHECK(table.module_name(1).empty());
}

TEST_CASE("what is broken, or wraps around, is no method", "[events]") {
  MethodTable table;
  table.add(method(~std::uint64_t{0}, 0x10, "Wraps", "()").event());
  table.add(method(0x1000, 0, "Empty", "()").event());
  SampleEvent cut(kRundownProvider, 144);
  cut.payload.u64(1).u64(2);
  table.add(cut.event());
  SampleEvent other("Orders", 144);
  other.payload = method(0x1000, 0x10, "Quote", "()").payload;
  table.add(other.event());
  CHECK(table.size() == 0);
}
