// Fuzzes what makes a heap of a runtime's events. An input is events: which one, its time, the payload's size
// and the payload. Whatever they say, what is kept is bounded by what came, and a graph is one that can be
// written.
#include <algorithm>
#include <array>

#include "events/heap_walk.hpp"
#include "events/providers.hpp"
#include "heap/gcdump.hpp"
#include "heap/heap.hpp"
#include "tests/fuzz/events.hpp"
#include "tests/fuzz/heap_peak.hpp"
#include "tests/fuzz/target.hpp"

using namespace farport;
using fuzz::HeapPeak;
using fuzz::require;

namespace {

constexpr std::array<std::uint32_t, 9> kEvents{1, 2, 15, 16, 17, 18, 19, 38, 154};
constexpr std::uint32_t kModule = 154;

/// A type takes an entry in a table and a name in a file, whatever little it is made of.
constexpr std::size_t kMaxHeldPerByte = 256;
/// Names of static fields have those of their types in them, up to a limit.
constexpr std::size_t kMaxHeldAtLeast = 64 << 20;

void read_events(nettrace::Cursor in, events::HeapWalk& walk) {
  while (!in.at_end() && !in.failed()) {
    nettrace::Definition definition;
    definition.event_id = kEvents[in.u8() % kEvents.size()];
    definition.provider =
        definition.event_id == kModule ? events::kRundownProvider : events::kRuntimeProvider;
    const std::uint8_t time = in.u8();
    const std::size_t size = std::min<std::size_t>(in.u16(), in.remaining());
    fuzz::hand_on({definition, time, in.take(size)}, walk);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const HeapPeak peak;
  events::HeapWalk walk(events::HeapWalk::Keep::objects);
  read_events(nettrace::Cursor(std::as_bytes(std::span(data, size)), 0), walk);
  const bool ended = walk.ended();
  heap::Heap heap = walk.take();
  require(ended || !heap.complete, "a heap is complete only where the walk has ended");
  require(!heap.graph || heap.complete, "there is no graph of parts");
  std::uint64_t objects = 0;
  for (const heap::TypeId type : heap::largest_types(heap, heap.types.size()))
    objects += heap.types[type].objects;
  require(objects == heap.objects, "each object has a type");
  if (heap.graph) {
    std::uint64_t written = 0;
    const auto wrote =
        heap::write_gcdump(std::move(heap), {"host", "process"}, [&](nettrace::BytesView piece) {
          written += piece.size();
          return Result<void>();
        });
    require(wrote && written > 0, "a graph can be written");
  }
  require(peak.bytes() <= kMaxHeldAtLeast + kMaxHeldPerByte * size, "what is held is bounded by what came");
  return 0;
}
