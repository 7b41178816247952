#include "timeline/timeline.hpp"

#include <bit>
#include <limits>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "events/providers.hpp"
#include "tests/unit/events/sample_event.hpp"
#include "timeline/timeline_reader.hpp"

using namespace farport;
using events::kRuntimeProvider;
using test::SampleEvent;
using timeline::Timeline;
using timeline::TimelineReader;

namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

nettrace::TraceHeader header() {
  nettrace::TraceHeader trace;
  trace.format = 4;
  trace.ticks_per_second = 1'000'000'000;
  trace.process_id = 4711;
  trace.processors = 2;
  return trace;
}

SampleEvent runtime_event(std::uint32_t id, std::int64_t milliseconds, std::uint64_t thread = 17) {
  SampleEvent event(kRuntimeProvider, id);
  event.timestamp = milliseconds * kMillisecond;
  event.thread.id = thread;
  return event;
}

SampleEvent exception(std::int64_t milliseconds, std::string_view message, std::uint64_t address = 0x1010) {
  SampleEvent event = runtime_event(80, milliseconds);
  event.payload.utf16("System.IO.IOException").utf16(message).u64(0).u32(0).u16(0);
  event.addresses = {address, 0x2020};
  return event;
}

SampleEvent log_entry(std::int64_t milliseconds, std::string_view message) {
  SampleEvent event(events::kLoggingProvider, 1, "FormattedMessage");
  event.timestamp = milliseconds * kMillisecond;
  return event.number("Level", 3).text("LoggerName", "Orders.Stock").text("FormattedMessage", message);
}

/// A method, as a rundown names it.
SampleEvent method(std::uint64_t begin, std::string_view name) {
  SampleEvent event(events::kRundownProvider, 144);
  event.payload.u64(1).u64(1).u64(begin).u32(0x100).u32(0).u32(0);
  event.payload.utf16("Orders.Pricing").utf16(name).utf16("void  ()");
  return event;
}

class Reading {
 public:
  Reading() { reader_.on_trace(header()); }
  Reading& add(SampleEvent event) {
    reader_.on_event(event.event());
    return *this;
  }
  Timeline take() { return reader_.take({"orders", "orders-5/web on node1", "exit code 3"}); }
  nlohmann::json json() { return nlohmann::json::parse(text_of(timeline::write_json)); }
  std::string text_of(void (*write)(const Timeline&, profile::Output&)) {
    std::string all;
    profile::Output out([&all](std::string_view piece) -> Result<void> {
      all += piece;
      return {};
    });
    write(take(), out);
    REQUIRE(out.finish());
    return all;
  }

 private:
  TimelineReader reader_;
};

}  // namespace

TEST_CASE("exceptions and log entries are in the timeline, by time and with names", "[timeline]") {
  Reading reading;
  reading.add(exception(30, "late")).add(log_entry(20, "low")).add(exception(10, "early"));
  reading.add(method(0x1000, "Quote")).add(method(0x2000, "Serve"));
  const auto json = reading.json();
  CHECK(json["process"] == "orders");
  CHECK(json["place"] == "orders-5/web on node1");
  CHECK(json["end"] == "exit code 3");
  CHECK(json["pid"] == 4711);
  CHECK(json["duration"] == 20);
  REQUIRE(json["exceptions"].size() == 2);
  CHECK(json["exceptions"][0]["message"] == "early");
  CHECK(json["exceptions"][0]["time"] == 0);
  CHECK(json["exceptions"][1]["time"] == 20);
  // Both have the same stack, which is told once.
  CHECK(json["exceptions"][0]["stack"] == json["exceptions"][1]["stack"]);
  REQUIRE(json["stacks"].size() == 1);
  CHECK(json["frames"][json["stacks"][0][0].get<std::size_t>()].get<std::string>().find("Quote") !=
        std::string::npos);
  REQUIRE(json["logs"].size() == 1);
  CHECK(json["logs"][0]["level"] == "Warning");
  CHECK(json["logs"][0]["message"] == "low");
}

TEST_CASE("a pause lasts from a suspension for a collection to its end, also if several threads tell of it",
          "[timeline]") {
  Reading reading;
  SampleEvent other = runtime_event(9, 5);
  other.payload.u32(5);
  SampleEvent suspending = runtime_event(9, 10, 1);
  suspending.payload.u32(1);
  SampleEvent started = runtime_event(1, 12, 2);
  started.payload.u32(7).u32(2);
  // They come by thread, not by time.
  reading.add(runtime_event(3, 25, 3)).add(started).add(other).add(runtime_event(3, 6)).add(suspending);
  const Timeline made = reading.take();
  REQUIRE(made.pauses.size() == 1);
  CHECK(made.pauses[0].length == std::chrono::milliseconds(15));
  CHECK(made.pauses[0].generation == 2);
}

TEST_CASE("a wait for a lock has the stack on which it began", "[timeline]") {
  Reading reading;
  SampleEvent begins = runtime_event(81, 100);
  begins.addresses = {0x1010};
  SampleEvent ends = runtime_event(91, 160);
  ends.payload.u8(0).u16(0).u64(std::bit_cast<std::uint64_t>(60e6));
  SampleEvent endless = runtime_event(91, 170);
  endless.payload.u8(0).u16(0).u64(std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN()));
  reading.add(begins).add(ends).add(endless).add(method(0x1000, "Lock"));
  const auto json = reading.json();
  REQUIRE(json["lock_waits"].size() == 1);
  CHECK(json["lock_waits"][0]["length"] == 60);
  CHECK(json["lock_waits"][0]["time"] == 0);
  CHECK(json["frames"][0].get<std::string>().find("Lock") != std::string::npos);
}

TEST_CASE("a starved thread pool is told, other changes of its size aren't", "[timeline]") {
  Reading reading;
  for (const std::uint32_t reason : {4U, 6U}) {
    SampleEvent event = runtime_event(55, reason);
    event.payload.u64(0).u32(9).u32(reason);
    reading.add(event);
  }
  CHECK(reading.take().starved.size() == 1);
}

TEST_CASE("samples of the processor are in the timeline with names", "[timeline]") {
  Reading reading;
  for (const std::int64_t time : {30, 10}) {
    SampleEvent sample(events::kSampleProvider, 0);
    sample.timestamp = time * kMillisecond;
    sample.thread.id = 7;
    sample.payload.u32(2);
    sample.addresses = {0x1010, 0x2020};
    reading.add(sample);
  }
  SampleEvent unknown(events::kSampleProvider, 0);
  reading.add(unknown).add(method(0x1000, "Quote")).add(method(0x2000, "Serve"));
  const auto json = reading.json();
  CHECK(json["samples"] == nlohmann::json{0, 7, 0, 20, 7, 0});
  REQUIRE(json["stacks"].size() == 1);
  CHECK(json["frames"][json["stacks"][0][1].get<std::size_t>()].get<std::string>().find("Serve") !=
        std::string::npos);
}

TEST_CASE("what takes too much memory goes, the oldest first", "[timeline]") {
  Reading reading;
  const std::string large(60'000, 'x');
  constexpr std::int64_t kCount = 400;
  for (std::int64_t number = 1; number <= kCount; ++number) reading.add(exception(number, large, number * 8));
  const Timeline made = reading.take();
  CHECK(made.left_out > 0);
  CHECK(made.left_out + made.exceptions.size() == kCount);
  CHECK(made.exceptions.back().time == timeline::Time(std::chrono::milliseconds(kCount)));
  CHECK(made.exceptions.size() * large.size() <= timeline::kMaxHeldBytes);
}

TEST_CASE("no events make an empty timeline, and broken ones do no harm", "[timeline]") {
  Reading none;
  CHECK(none.json()["duration"] == 0);
  Reading broken;
  for (const std::uint32_t id : {1U, 3U, 9U, 55U, 80U, 81U, 91U}) broken.add(runtime_event(id, 5));
  CHECK(broken.json()["exceptions"].empty());
}

TEST_CASE("text of an application can't end the page's data", "[timeline]") {
  Reading reading;
  reading.add(log_entry(1, "</script><script>alert(1)</script>"));
  const std::string page = reading.text_of(timeline::write_html);
  CHECK(page.find("<script>alert") == std::string::npos);
  CHECK(page.find("u003c/script>") != std::string::npos);
  CHECK(page.ends_with("</html>\n"));
}
