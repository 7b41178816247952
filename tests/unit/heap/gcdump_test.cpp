#include "heap/gcdump.hpp"

#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "heap/heap.hpp"

using namespace farport;
using namespace farport::heap;

namespace {

std::string bytes_of(Heap heap) {
  std::string bytes;
  const auto written =
      write_gcdump(std::move(heap), {"web-3", "orders"}, [&](std::span<const std::byte> piece) {
        bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
        return Result<void>();
      });
  REQUIRE(written);
  return bytes;
}

/// A list that refers to itself, to an object that is no object of the heap, and to a large one.
Heap small_heap() {
  Heap heap;
  heap.types.push_back({"Größe", "orders.dll", 1, 2, 0});
  heap.types.push_back({"", "", 0x7100, 1, 0});
  Graph& graph = heap.graph.emplace();
  graph.objects.push_back({0x300, 24, 0, 3});
  graph.objects.push_back({0x100, std::uint64_t{1} << 40, 0, 0});
  graph.objects.push_back({0x200, 0, 1, 1});
  graph.objects.push_back({0x400, 40, 0, 0});
  graph.references = {0x300, 0xDEAD, 0x100, 0x300};
  graph.roots.push_back({0x300, RootKind::local});
  graph.roots.push_back({0xDEAD, RootKind::handle});
  graph.statics.push_back({0x200, 1, false, "s_all"});
  heap.pid = 4711;
  return heap;
}

bool has(const std::string& bytes, std::string_view part) {
  return bytes.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a file names its types, its roots and where it is from", "[heap]") {
  const std::string bytes = bytes_of(small_heap());
  CHECK(bytes.starts_with(std::string("\x14\0\0\0!FastSerialization.1", 24)));
  for (const std::string_view part :
       {"GCHeapDump", "Graphs.MemoryGraph", "UNDEFINED", "orders.dll", "[type 0x7100]", "[.NET Roots]",
        "[local vars]", "[static var [type 0x7100].s_all]", "web-3", "orders", "farport"})
    CHECK(has(bytes, part));
  // As many units as UTF-16 has.
  CHECK(has(bytes, std::string("\x05\0\0\0Gr\xC3\xB6\xC3\x9F"
                               "e",
                               11)));
}

TEST_CASE("nodes refer to each other by how far they are apart", "[heap]") {
  const std::string bytes = bytes_of(small_heap());
  // The node of none; the first object: type 1 of its usual size, itself and the next one; the second: type
  // 3, which is that of the greatest ones; the third, whose size is unlike its type's first one: two back.
  CHECK(has(bytes, std::string("\0\0"
                               "\x02\x02\0\x01"
                               "\x06\0"
                               "\x04\x01\x7E"
                               "\x03\x28\0",
                               14)));
}

TEST_CASE("large objects have types of their own, by their size", "[heap]") {
  Heap heap;
  heap.types.push_back({"Byte[]", "orders.dll", 1, 0, 0});
  Graph& graph = heap.graph.emplace();
  for (const std::uint64_t size : {1000, 1001, 9999, 10'000, 99'999, 1'000'000})
    graph.objects.push_back({size, size, 0, 0});
  const std::string bytes = bytes_of(std::move(heap));
  for (const std::string_view name :
       {"Byte[]", "Byte[] (Bytes > 1K)", "Byte[] (Bytes > 10K)", "Byte[] (Bytes > 1M)"})
    CHECK(has(bytes, static_cast<char>(name.size()) + std::string("\0\0\0", 3).append(name)));
  CHECK_FALSE(has(bytes, "(Bytes > 100K)"));
  // The type of 1,000 bytes and less; that of 1,001, then 9,999, which are of one type; the next ones'.
  CHECK(has(bytes, std::string("\x02\0"
                               "\x04\0"
                               "\x05\x80\xCE\x0F\0"
                               "\x06\0",
                               11)));
}

TEST_CASE("a time that is none of .NET's is none", "[heap]") {
  for (const std::int64_t taken : {INT64_MIN, INT64_MAX, std::int64_t{0}}) {
    Heap heap = small_heap();
    heap.taken = taken;
    CHECK(has(bytes_of(std::move(heap)), "orders"));
  }
}

TEST_CASE("a sink's error is the file's", "[heap]") {
  const auto written = write_gcdump(small_heap(), {}, [](std::span<const std::byte>) -> Result<void> {
    return fail("write", "x", "no room");
  });
  REQUIRE_FALSE(written);
  CHECK(written.error().why == "no room");
}

TEST_CASE("the types of a heap are JSON that a whole document would be, too", "[heap]") {
  Heap heap;
  const auto whole = [&] {
    const std::string text = to_json(heap, "orders \"1\"", 10);
    return std::pair(text, nlohmann::ordered_json::parse(text));
  };
  const auto [empty, nothing] = whole();
  CHECK(empty == nothing.dump(2) + "\n");
  CHECK(nothing["types"].empty());
  heap.types.push_back({"Orders.Quote\n", "orders.dll", 1, 2, 100});
  heap.types.push_back({"System.String", "", 2, 3, 200});
  const auto [text, two] = whole();
  CHECK(text == two.dump(2) + "\n");
  REQUIRE(two["types"].size() == 2);
  CHECK(two["types"][0]["type"] == "System.String");
  CHECK(two["types"][1]["module"] == "orders.dll");
}
