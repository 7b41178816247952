#include "events/heap_walk.hpp"

#include <catch2/catch.hpp>

#include "events/providers.hpp"
#include "heap/heap.hpp"
#include "tests/unit/events/sample_event.hpp"

using namespace farport;
using namespace farport::events;
using test::FieldWriter;
using test::SampleEvent;

namespace {

constexpr std::uint64_t kList = 0x7000;
constexpr std::uint64_t kOrder = 0x7100;
constexpr std::uint64_t kModule = 9;

/// A runtime that walks its heap, and says at what time each event happens.
class Walking {
 public:
  HeapWalk walk;

  explicit Walking(HeapWalk::Keep keep = HeapWalk::Keep::objects) : walk(keep) {}

  void tell(std::uint32_t id, const FieldWriter& payload, std::int64_t time,
            const char* provider = kRuntimeProvider) {
    SampleEvent made(provider, id);
    made.payload = payload;
    nettrace::Event event = made.event();
    event.timestamp = time;
    walk.on_event(event);
  }
  void start(std::uint32_t number, std::int64_t time, std::uint32_t reason = 1) {
    tell(1, FieldWriter().u32(number).u32(2).u32(reason).u32(0).u16(0).u64(0), time);
  }
  void end(std::uint32_t number, std::int64_t time) {
    tell(2, FieldWriter().u32(number).u32(2).u16(0), time);
  }
  void objects(std::uint32_t index, std::initializer_list<heap::Object> all, std::int64_t time) {
    FieldWriter payload;
    payload.u32(index).u32(all.size()).u16(0);
    for (const heap::Object& each : all)
      payload.u64(each.address).u64(each.bytes).u64(each.type == 0 ? kList : kOrder).u64(each.references);
    tell(18, payload, time);
  }
  void references(std::uint32_t index, std::initializer_list<std::uint64_t> all, std::int64_t time) {
    FieldWriter payload;
    payload.u32(index).u32(all.size()).u16(0);
    for (const std::uint64_t each : all) payload.u64(each).u32(0);
    tell(19, payload, time);
  }
  void types() {
    FieldWriter payload;
    payload.u32(2).u16(0);
    payload.u64(kList).u64(kModule).u32(0).u32(0).u8(0).utf16("List`1[Orders.Order[]]").u32(1).u64(kOrder);
    payload.u64(kOrder).u64(kModule).u32(0).u32(0).u8(0).utf16("Orders.Order").u32(0);
    tell(15, payload, 1);
  }
  void module() {
    tell(154, FieldWriter().u64(kModule).u64(1).u32(0).u32(0).utf16("/app/orders.dll").utf16(""), 99,
         kRundownProvider);
  }
  /// A list with two orders, and a cycle.
  void whole_walk() {
    start(5, 10);
    objects(0, {{0x100, 32, 0, 2}, {0x200, 24, 1, 1}}, 11);
    objects(1, {{0x300, 24, 1, 0}}, 12);
    references(0, {0x200, 0x300, 0x100}, 13);
    end(5, 14);
  }
};

}  // namespace

TEST_CASE("a walk makes a heap of types", "[events]") {
  Walking runtime(HeapWalk::Keep::types);
  runtime.whole_walk();
  CHECK(runtime.walk.ended());
  runtime.types();
  runtime.module();
  const heap::Heap made = runtime.walk.take();
  CHECK(made.complete);
  CHECK_FALSE(made.graph);
  CHECK(made.objects == 3);
  CHECK(made.bytes == 80);
  CHECK(made.references == 3);
  const std::vector<heap::TypeId> largest = heap::largest_types(made, 10);
  REQUIRE(largest.size() == 2);
  CHECK(made.types[largest[0]].name == "Orders.Order");
  CHECK(made.types[largest[0]].module == "orders.dll");
  CHECK(made.types[largest[0]].objects == 2);
  CHECK(made.types[largest[0]].bytes == 48);
  CHECK(made.types[largest[1]].name == "List<Orders.Order[]>");
  CHECK(heap::largest_types(made, 1).size() == 1);
}

TEST_CASE("a walk makes a graph where it is asked for", "[events]") {
  Walking runtime;
  runtime.tell(38, FieldWriter().u32(1).u64(1).u16(0).u64(0x50).u64(0x100).u64(kList).u32(1).utf16("s_all"),
               9);
  runtime.whole_walk();
  runtime.tell(
      16, FieldWriter().u32(0).u32(2).u16(0).u64(0x200).u8(2).u32(1).u64(7).u64(0x300).u8(2).u32(2).u64(8),
      14);
  runtime.tell(17, FieldWriter().u32(0).u32(2).u16(0).u64(0x100).u64(0x200).u64(1).u64(0).u64(0x300).u64(1),
               14);
  const heap::Heap made = runtime.walk.take();
  REQUIRE(made.graph);
  CHECK(made.graph->objects.size() == 3);
  CHECK(made.graph->references == std::deque<std::uint64_t>{0x200, 0x300, 0x100});
  // Weak references, and dependent ones of an object that is gone, keep nothing alive.
  REQUIRE(made.graph->roots.size() == 2);
  CHECK(made.graph->roots[0].kind == heap::RootKind::pinning_handle);
  CHECK(made.graph->roots[1].kind == heap::RootKind::dependent_handle);
  REQUIRE(made.graph->statics.size() == 1);
  CHECK(made.graph->statics[0].name == "s_all");
  CHECK(made.graph->statics[0].of_thread);
}

TEST_CASE("threads tell of a collection in any order", "[events]") {
  Walking runtime;
  runtime.objects(0, {{0x100, 32, 0, 0}}, 11);
  runtime.end(5, 14);
  CHECK_FALSE(runtime.walk.ended());
  runtime.start(5, 10);
  CHECK(runtime.walk.ended());
  CHECK(runtime.walk.take().complete);
}

TEST_CASE("collections without a walk are waited out, and other sessions' walks left out", "[events]") {
  Walking runtime;
  runtime.objects(3, {{0x900, 32, 0, 0}}, 1);
  runtime.references(2, {0x900}, 1);
  runtime.start(3, 2);
  runtime.end(3, 3);
  runtime.start(4, 4, 7);
  runtime.end(4, 5);
  CHECK_FALSE(runtime.walk.ended());
  runtime.whole_walk();
  CHECK(runtime.walk.ended());
  runtime.start(6, 20);
  runtime.objects(0, {{0x900, 32, 0, 0}}, 21);
  runtime.end(6, 22);
  const heap::Heap made = runtime.walk.take();
  CHECK(made.complete);
  CHECK(made.objects == 3);
}

TEST_CASE("what an array refers to, and roots, may be told of before the first object", "[events]") {
  Walking runtime;
  // Of another session's walk, whose beginning was not seen.
  runtime.objects(3, {{0x900, 32, 0, 0}}, 1);
  runtime.references(2, {0x900}, 1);
  runtime.start(5, 10);
  runtime.tell(16, FieldWriter().u32(0).u32(1).u16(0).u64(0x100).u8(2).u32(0).u64(7), 11);
  runtime.references(0, {0x200, 0x300}, 12);
  runtime.references(1, {0x400}, 12);
  runtime.objects(0, {{0x100, 32, 0, 3}, {0x200, 24, 1, 0}}, 13);
  runtime.objects(1, {{0x300, 24, 1, 0}, {0x400, 24, 1, 0}}, 13);
  runtime.end(5, 14);
  CHECK(runtime.walk.ended());
  const heap::Heap made = runtime.walk.take();
  REQUIRE(made.graph);
  CHECK(made.objects == 4);
  CHECK(made.graph->references == std::deque<std::uint64_t>{0x200, 0x300, 0x400});
  CHECK(made.graph->roots.size() == 1);
}

TEST_CASE("another session's walk that was seen from its first event is left out", "[events]") {
  Walking runtime;
  runtime.references(0, {0x900}, 1);
  runtime.objects(0, {{0x900, 32, 0, 1}}, 2);
  runtime.whole_walk();
  CHECK(runtime.walk.ended());
  CHECK(runtime.walk.take().objects == 3);
}

TEST_CASE("what has got lost is said, and there is no graph then", "[events]") {
  const auto is_complete = [](const auto& go_wrong) {
    Walking runtime;
    runtime.start(5, 10);
    runtime.objects(0, {{0x100, 32, 0, 1}}, 11);
    go_wrong(runtime);
    runtime.end(5, 14);
    const heap::Heap made = runtime.walk.take();
    CHECK(made.objects >= 1);
    CHECK(made.graph.has_value() == made.complete);
    return made.complete;
  };
  CHECK(is_complete([](Walking& runtime) { runtime.references(0, {0x100}, 12); }));
  CHECK_FALSE(is_complete([](Walking&) {}));
  CHECK_FALSE(is_complete([](Walking& runtime) { runtime.references(1, {0x100}, 12); }));
  CHECK_FALSE(is_complete([](Walking& runtime) {
    runtime.references(0, {0x100}, 12);
    runtime.objects(2, {{0x200, 32, 0, 0}}, 12);
  }));
  CHECK_FALSE(is_complete([](Walking& runtime) {
    runtime.references(0, {0x100}, 12);
    const SampleEvent any(kRuntimeProvider, 1);
    runtime.walk.on_dropped(any.thread, 1);
  }));
}

TEST_CASE("what has got lost may be told after the end of the collection", "[events]") {
  Walking runtime;
  runtime.start(5, 10);
  runtime.objects(0, {{0x100, 32, 0, 1}}, 11);
  runtime.end(5, 14);
  CHECK_FALSE(runtime.walk.has_enough());
  const SampleEvent any(kRuntimeProvider, 1);
  runtime.walk.on_dropped(any.thread, 1);
  CHECK(runtime.walk.lacks_parts());
  CHECK(runtime.walk.has_enough());
}

TEST_CASE("the end of another session's walk is no reason to stop waiting", "[events]") {
  Walking runtime;
  runtime.references(0, {0x900}, 1);
  runtime.objects(4, {{0x900, 32, 0, 1}}, 2);
  CHECK_FALSE(runtime.walk.has_enough());
  runtime.whole_walk();
  CHECK(runtime.walk.ended());
  CHECK(runtime.walk.take().graph);
}

TEST_CASE("counts that lie end where the payload does", "[events]") {
  Walking runtime;
  runtime.start(5, 10);
  for (const std::uint32_t id : {15U, 16U, 17U, 18U, 19U, 38U}) {
    runtime.tell(id, FieldWriter().u32(0).u32(0xFFFFFFFF).u16(0).u64(1).u64(2).u64(3).u64(0).u8(1), 11);
    runtime.tell(id, FieldWriter().u32(0xFFFFFFFF).u16(0), 11);
    runtime.tell(id, FieldWriter(), 11);
  }
  runtime.tell(1, FieldWriter().u32(1), 11);
  runtime.tell(2, FieldWriter(), 11);
  runtime.end(5, 12);
  CHECK_FALSE(runtime.walk.take().complete);
}

TEST_CASE("a type that is never told of has a number for a name", "[events]") {
  Walking runtime;
  runtime.whole_walk();
  const heap::Heap made = runtime.walk.take();
  CHECK(heap::label_of(made.types[heap::largest_types(made, 1).front()]) == "[type 0x7100]");
}
