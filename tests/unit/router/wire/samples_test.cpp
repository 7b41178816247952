// Samples of stacks on their way.
#include "router/wire/samples.hpp"

#include <vector>

#include <catch2/catch.hpp>

using namespace farport;
using namespace farport::router;
using namespace std::chrono_literals;

namespace {

/// What has been read, as lines.
class Lines final : public SampleSink {
 public:
  void on_start(const SamplingStart& start) override {
    add("start " + std::to_string(start.frequency) + (start.clock == SampleClock::cycles ? " cycles" : "") +
        (start.kernel ? " kernel" : ""));
  }
  void on_thread(std::uint32_t thread, std::string_view name) override {
    add("thread " + std::to_string(thread) + " " + std::string(name));
  }
  void on_call(const SampledCall& call) override {
    add("call by " + std::to_string(call.caller) + " at " + std::to_string(call.address));
  }
  void on_sample(const StackSample& sample) override {
    add("sample " + std::to_string(sample.time.count()) + " of " + std::to_string(sample.thread) + " in " +
        std::to_string(sample.call));
  }
  void on_lost(std::uint64_t samples) override { add("lost " + std::to_string(samples)); }
  void on_mapping(SampledMapping mapping) override {
    add("mapping " + std::to_string(mapping.start) + "-" + std::to_string(mapping.end) + " as " +
        std::to_string(mapping.address) + " of " + mapping.path + " " + mapping.build_id);
  }
  void on_symbol(SampledSymbol symbol) override {
    add("symbol " + std::to_string(symbol.start) + "-" + std::to_string(symbol.end) + " " + symbol.name +
        " " + symbol.module);
  }
  void on_note(std::string_view text) override { add("note " + std::string(text)); }
  void on_end(SamplingEnd end, std::string_view why) override {
    add("end " + std::to_string(static_cast<int>(end)) + " " + std::string(why));
  }
  std::vector<std::string> lines;

 private:
  void add(std::string line) { lines.push_back(std::move(line)); }
};

constexpr std::uint64_t kHigh = 0xFFFF'FFFF'8100'0000;

/// One of each record, in `sink`.
void tell_example(SampleSink& sink) {
  sink.on_start({99, SampleClock::cycles, true});
  sink.on_thread(7, "main");
  sink.on_call({0, 0x1000});
  sink.on_call({1, kHigh});
  sink.on_call({1, 16});
  sink.on_sample({10ms, 7, 2});
  // From another processor's memory, which is read later.
  sink.on_sample({9ms, 8, 3});
  sink.on_lost(3);
  sink.on_mapping({0x1000, 0x2000, 64, "/app/lib.so", "abcd"});
  sink.on_symbol({0x1000, 0x1010, "spin", ""});
  sink.on_symbol({kHigh, kHigh + 1, "do_sys", "mod"});
  sink.on_note("words");
  sink.on_end(SamplingEnd::stopped, "why");
}

std::string example() {
  SampleWriter writer;
  tell_example(writer);
  return writer.take();
}

Result<void> read(SampleReader& reader, std::string_view bytes) {
  return reader.read(std::as_bytes(std::span(bytes)));
}

Result<void> read(std::string_view bytes, const SampleLimits& limits = {}) {
  Lines lines;
  SampleReader reader(lines, limits);
  return read(reader, bytes);
}

/// A stream that has begun, and `kind` with this payload.
std::string with_record(char kind, std::string_view payload) {
  SampleWriter writer;
  writer.on_start({99, SampleClock::cpu_clock, false});
  return writer.take() + kind + static_cast<char>(payload.size()) + std::string(payload);
}

}  // namespace

TEST_CASE("what is told of samples arrives, in pieces of any size", "[samples]") {
  Lines told;
  tell_example(told);
  const std::string bytes = example();
  for (const std::size_t size : {std::size_t{1}, std::size_t{2}, std::size_t{7}, bytes.size()}) {
    Lines lines;
    SampleReader reader(lines);
    for (std::string_view rest = bytes; !rest.empty();) {
      const std::string_view piece = rest.substr(0, size);
      REQUIRE(read(reader, piece));
      rest.remove_prefix(piece.size());
    }
    CHECK(lines.lines == told.lines);
    CHECK(reader.ended());
  }
}

TEST_CASE("what is no stream of samples is refused", "[samples]") {
  CHECK_FALSE(read("HTTP"));
  CHECK_FALSE(read("X"));
  CHECK(read("FP"));
  // A beginning is needed, though an end or a note may do without.
  CHECK_FALSE(read(std::string("FPS1\x04\x03\x00\x00\x00", 9)));
  CHECK(read(std::string("FPS1\x09\x02\x00\x00", 8)));
  CHECK_FALSE(read(example() + example()));
  CHECK_FALSE(read(example() + "x"));
  CHECK_FALSE(read(with_record(1, std::string("\x63\x00\x00", 3))));
  // A record that would be larger than any.
  CHECK_FALSE(read("FPS1\x01\xFF\xFF\x7F"));
  CHECK_FALSE(read("FPS1\x01\xFF\xFF\xFF\xFF\xFF\xFF"));
  // None, said in more bytes than a size may have.
  CHECK_FALSE(read(std::string("FPS1\x80\x80\x80\x80\x00", 9)));
}

TEST_CASE("records that contradict others, or themselves, are refused", "[samples]") {
  // A call by one that there is not; a sample of one; one from before the beginning; none of its fields.
  CHECK_FALSE(read(with_record(3, std::string("\x01\x00", 2))));
  CHECK_FALSE(read(with_record(4, std::string("\x00\x07\x01", 3))));
  CHECK_FALSE(read(with_record(4, std::string("\x01\x07\x00", 3))));
  CHECK_FALSE(read(with_record(3, "")));
  // A range that is empty, or goes round.
  CHECK_FALSE(read(with_record(7, std::string("\x08\x00\x00\x00", 4))));
  CHECK_FALSE(read(with_record(7, std::string("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x00\x00", 13))));
  // A text that is longer than its record.
  CHECK_FALSE(read(with_record(8, "\x7Fx")));
  CHECK_FALSE(read(with_record(9, std::string("\x04\x00", 2))));
}

TEST_CASE("a kind of record that is not known yet is left out", "[samples]") {
  CHECK(read(with_record(0x20, "anything")));
  CHECK(read(with_record(0, "")));
}

TEST_CASE("there is no more of anything than there may be", "[samples]") {
  const std::string bytes = example();
  REQUIRE(read(bytes));
  for (std::uint64_t SampleLimits::*const limit :
       {&SampleLimits::threads, &SampleLimits::calls, &SampleLimits::samples, &SampleLimits::losses,
        &SampleLimits::mappings, &SampleLimits::symbols, &SampleLimits::notes, &SampleLimits::text_bytes}) {
    SampleLimits limits;
    limits.*limit = 0;
    CHECK_FALSE(read(bytes, limits));
  }
}

TEST_CASE("a text that is too long is cut", "[samples]") {
  SampleWriter writer;
  writer.on_start({99, SampleClock::cpu_clock, false});
  writer.on_note(std::string(3 * sample_record::kMaxSize, 'x'));
  Lines lines;
  SampleReader reader(lines);
  REQUIRE(read(reader, writer.take()));
  CHECK(lines.lines.back() == "note " + std::string(sample_record::kMaxText, 'x'));
}
