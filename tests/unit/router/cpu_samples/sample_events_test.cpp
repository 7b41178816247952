// Samples as events of a recording.
#include "router/cpu_samples/sample_events.hpp"

#include <map>

#include <catch2/catch.hpp>

#include "events/methods.hpp"
#include "events/precompiled_methods.hpp"
#include "nettrace/append.hpp"
#include "nettrace/reader.hpp"
#include "tests/unit/nettrace/trace_writer.hpp"

using namespace farport;
using namespace farport::router;
using namespace std::chrono_literals;
using nettrace::StreamJoin;
using test::Bytes;

namespace {

constexpr std::uint64_t kBegan = 5'000'000'000;

/// A recording that begins a second after the samples.
Bytes recording(std::uint64_t ticks_per_second = 1'000'000'000) {
  test::TraceWriter made(4);
  made.object("Trace", test::trace_clock(ticks_per_second).u32(4711).u32(3).u32(1'000'000), 4);
  const auto fields = test::definition_4(1, "Orders", 10, "");
  made.block(nettrace::BlockKind::metadata,
             test::event_block().u8(0xC0).var(0).var(fields.size()).bytes(fields.take()));
  auto events = test::event_block();
  events.u8(0x8F).var(1).var(0).var(500).var(3).var(600).var(0).var(kBegan + 1'000'000'000).var(0);
  return made.block(nettrace::BlockKind::events, events).bytes();
}

std::string example() {
  SampleWriter writer;
  writer.on_start({19, SampleClock::cpu_clock, false, std::chrono::nanoseconds(kBegan)});
  writer.on_call({0, 0x1005});
  writer.on_call({1, 0x2005});
  writer.on_call({2, 0x9005});
  // Those of one processor come after those of the other.
  writer.on_sample({2500ms, 7, 3});
  writer.on_sample({500ms, 7, 3});
  writer.on_sample({2000ms, 8, 2});
  writer.on_sample({2100ms, 8, 0});
  writer.on_mapping({0x1000, 0x2000, 0x100, "/app/orders", "01"});
  writer.on_mapping({0x2000, 0x3000, 0, "/dotnet/größer/libcoreclrü.so", "02"});
  writer.on_mapping({0x9000, 0xA000, 0, "/app/Orders.dll", ""});
  writer.on_symbol({0x1000, 0x1010, "main", ""});
  writer.on_end(SamplingEnd::time_over, "");
  return writer.take();
}

Bytes framed(const std::string& stream) {
  Bytes bytes;
  nettrace::append(bytes, static_cast<std::uint32_t>(stream.size()));
  nettrace::append(bytes, std::as_bytes(std::span(stream)));
  return bytes;
}

/// What a reader finds.
struct Found final : nettrace::Handler {
  void on_event(const nettrace::Event& event) override {
    methods.add(event);
    if (event.definition.provider != events::kSampleProvider) return;
    std::string& line = samples.emplace_back(std::to_string(event.thread.id));
    line += " at " + std::to_string((event.timestamp - kBegan) / 1'000'000);
    for (std::size_t at = 0; at < event.stack.size(); ++at) stack.push_back(event.stack[at]);
  }
  events::MethodTable methods;
  std::vector<std::string> samples;
  std::vector<std::uint64_t> stack;
};

/// Joins both, the samples in pieces of this size.
Found read(const Bytes& samples, std::size_t piece) {
  StreamJoin joined;
  SampleEvents events(joined);
  Bytes all = joined.take(recording()).value();
  for (std::size_t at = 0; at < samples.size(); at += piece) {
    const auto rest = nettrace::BytesView(samples).subspan(at);
    nettrace::append(all, events.take(rest.first(std::min(piece, rest.size()))));
  }
  const auto loads = events.take_loads();
  CHECK(events.take_loads().empty());
  REQUIRE(joined.add_kind(events::kMethodLoad));
  for (const auto& load : loads) nettrace::append(all, joined.add_events({{load}}));
  nettrace::append(all, joined.end());
  Found found;
  nettrace::Reader reader(found);
  REQUIRE(reader.feed(all));
  return found;
}

}  // namespace

TEST_CASE("samples become events with stacks, by time, from when the recording begins", "[recorder]") {
  for (const std::size_t piece : {1U, 7U, 100'000U}) {
    const Found found = read(framed(example()), piece);
    CHECK(found.samples == std::vector<std::string>{"8 at 2000", "7 at 2500"});
    CHECK(found.stack == std::vector<std::uint64_t>{0x2005, 0x1005, 0x9005, 0x2005, 0x1005});
    CHECK(found.methods.name_of(0x1005).find("main") != std::string::npos);
    CHECK(found.methods.name_of(0x2005).find("libcoreclrü.so") != std::string::npos);
    // The runtime names these.
    CHECK(found.methods.name_of(0x9005) == "0x9005");
  }
}

TEST_CASE("samplings that follow one another may have the same numbers", "[recorder]") {
  Bytes both = framed(example());
  nettrace::append(both, framed(example()));
  CHECK(read(both, 1000).samples.size() == 4);
}

TEST_CASE("a stream that is no good is left out, and the others are not", "[recorder]") {
  Bytes row = framed(example());
  nettrace::append(row, framed("FPSX and more"));
  nettrace::append(row, framed(example()));
  for (const std::size_t piece : {1U, 100'000U}) CHECK(read(row, piece).samples.size() == 4);
}

TEST_CASE("what are no samples, and samples of another clock, are left out", "[recorder]") {
  const auto left_out = [](const Bytes& of, const Bytes& samples) {
    StreamJoin joined;
    SampleEvents events(joined);
    REQUIRE(joined.take(of));
    std::ignore = events.take(samples);
    return events.left_out().has_value();
  };
  CHECK(!left_out(recording(), framed(example())));
  CHECK(left_out(recording(1000), framed(example())));
  CHECK(left_out(recording(), framed("FPSX")));
  CHECK(left_out(recording(), Bytes(8, std::byte{0xFF})));
  CHECK(!left_out(recording(), Bytes(3, std::byte{0xFF})));
}
