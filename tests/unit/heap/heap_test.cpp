#include "heap/heap.hpp"

#include <catch2/catch.hpp>

using namespace farport::heap;

namespace {

/// A heap with an object of each of these types.
Heap heap_of(std::vector<std::string> names) {
  Heap heap;
  for (std::string& name : names) heap.types.push_back({std::move(name), {}, 0x7000, 1, 24});
  heap.objects = names.size();
  heap.bytes = 24 * names.size();
  return heap;
}

}  // namespace

TEST_CASE("a heap that has everything has no gaps", "[heap]") {
  CHECK(gaps_of(heap_of({"System.String", "Orders.Order"})).empty());
  // A type without objects needs no name.
  Heap heap = heap_of({"System.String", ""});
  heap.types.back().objects = 0;
  CHECK(gaps_of(heap).empty());
}

TEST_CASE("types without names are gaps, and whose they are is told apart", "[heap]") {
  REQUIRE(gaps_of(heap_of({"System.String", ""})).size() == 1);
  CHECK_THAT(gaps_of(heap_of({"System.String", ""})).front(), Catch::Contains("another session"));
  CHECK_THAT(gaps_of(heap_of({""})).front(), Catch::Contains("NativeAOT"));
  CHECK_THAT(to_json(heap_of({""}), "orders", 10), Catch::Contains("NativeAOT"));
}

TEST_CASE("where parts are lost nobody else is blamed for names", "[heap]") {
  Heap heap = heap_of({"System.String", ""});
  heap.complete = false;
  REQUIRE(gaps_of(heap).size() == 1);
  CHECK_THAT(gaps_of(heap).front(), Catch::Contains("parts of the heap are missing"));
}
