// Fuzzes the reader of nettrace streams. The first byte of an input says in what pieces the rest comes.
// Whatever it is, the reader says the same of it at once and in pieces, and holds no more than its limits
// allow.
#include <algorithm>
#include <string>
#include <vector>

#include "nettrace/cursor.hpp"
#include "nettrace/payload.hpp"
#include "nettrace/reader.hpp"
#include "tests/fuzz/heap_peak.hpp"
#include "tests/fuzz/target.hpp"

using namespace farport::nettrace;
using farport::fuzz::HeapPeak;
using farport::fuzz::require;

namespace {

/// What a few bytes may become: a decoded value, a label or a name takes more than the bytes that it is made
/// of, and the reader has some tables.
constexpr std::size_t kMaxHeldPerByte = 128;
constexpr std::size_t kMaxHeldAtLeast = 1 << 20;
/// What one payload's values take, whatever it is made of.
constexpr std::size_t kMaxPayloadHeld = kMaxPayloadValues * 2 * sizeof(Member);

/// Sums up all that it is called with, so that two can be compared.
class Summary : public Handler {
 public:
  std::uint64_t sum = 0;

  void on_trace(const TraceHeader& trace) override {
    require(sum == 0, "the header is first");
    add(1 + static_cast<std::uint64_t>(trace.time_of(trace.sync_ticks)));
    require(trace.time_of(trace.sync_ticks) == trace.sync_time, "a trace begins when it begins");
  }
  void on_definition(const Definition& definition) override {
    require(definition.id != 0, "a definition has an id");
    add(definition.id + definition.name.size() + definition.fields.size());
  }
  void on_event(const Event& event) override {
    for (const std::byte byte : event.payload) add(std::to_integer<std::uint64_t>(byte));
    for (std::size_t at = 0; at < event.stack.size(); ++at) add(event.stack[at]);
    add(event.thread.id + event.capture_thread.id + event.sequence_number + event.keywords());
    const auto decoded = decode_payload(event.definition, event.payload, event.payload_offset);
    require(decoded || !decoded.error().why.empty(), "every error has a cause");
    require(!decoded || decoded->size() <= event.definition.fields.size(), "a field has one value");
    add(decoded ? decoded->size() : 7);
  }
  void on_dropped(const Thread& thread, std::uint32_t events) override {
    require(events > 0, "some are missing");
    add(thread.id ^ events);
  }
  void on_sequence_point(std::int64_t timestamp) override { add(static_cast<std::uint64_t>(timestamp)); }

 private:
  void add(std::uint64_t number) { sum = (sum ^ number) * 0x100000001b3 + 1; }
};

struct Outcome {
  std::uint64_t sum = 0;
  std::string message;
  bool operator==(const Outcome&) const = default;
};

Outcome read_in_pieces(BytesView bytes, std::size_t piece) {
  Summary summary;
  Reader reader(summary);
  while (!bytes.empty()) {
    const BytesView part = bytes.first(std::min(piece, bytes.size()));
    if (!reader.feed(part)) break;
    bytes = bytes.subspan(part.size());
  }
  const auto finished = reader.finish();
  require(!finished || reader.ended(), "what has finished has ended");
  return {summary.sum, finished ? "" : finished.error().message()};
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const BytesView bytes = std::as_bytes(std::span(data, size)).subspan(1);
  const HeapPeak peak;
  const Outcome whole = read_in_pieces(bytes, std::max<std::size_t>(bytes.size(), 1));
  require(peak.bytes() <= kMaxHeldAtLeast + kMaxPayloadHeld + kMaxHeldPerByte * size,
          "what is held is bounded by what came");
  require(read_in_pieces(bytes, 1 + std::size_t{data[0]}) == whole,
          "it reads the same in whatever pieces it comes");
  return 0;
}
