#include "events/sampled_profile.hpp"

#include <catch2/catch.hpp>

#include "events/providers.hpp"
#include "tests/unit/events/sample_event.hpp"

using namespace farport;
using namespace farport::events;
using test::SampleEvent;

namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

void take_sample(SampledProfile& into, std::vector<std::uint64_t> stack, std::int64_t ticks,
                 std::uint32_t kind, std::uint64_t thread = 17) {
  SampleEvent sample(kSampleProvider, 0);
  sample.payload.u32(kind);
  sample.addresses = std::move(stack);
  sample.thread.id = thread;
  nettrace::Event event = sample.event();
  event.timestamp = ticks;
  into.on_event(event);
}

}  // namespace

TEST_CASE("samples become a profile whose frames have names", "[events]") {
  SampledProfile taken(profile::Keep::each);
  nettrace::TraceHeader trace;
  trace.ticks_per_second = 1'000'000'000;
  trace.process_id = 4711;
  taken.on_trace(trace);
  take_sample(taken, {0x1008, 0x2000}, 3 * kMillisecond, 2);
  take_sample(taken, {0x1004, 0x2000}, 1 * kMillisecond, 1);
  take_sample(taken, {0x1004, 0x2000}, 2 * kMillisecond, 1);
  take_sample(taken, {}, 2 * kMillisecond, 1);
  SampleEvent method(kRundownProvider, 144);
  method.payload.u64(1).u64(9).u64(0x1000).u32(0x10).u32(0).u32(0).utf16("Orders").utf16("Price").utf16(
      "void ()");
  taken.on_event(method.event());
  taken.on_dropped(method.thread, 3);
  const profile::Profile made = taken.take();
  CHECK(made.pid == 4711);
  CHECK(made.lost == 3);
  CHECK(made.interval == std::chrono::milliseconds(1));
  REQUIRE(made.samples.size() == 3);
  CHECK(made.samples.each()[0].waiting);
  CHECK_FALSE(made.samples.each()[2].waiting);
  // Both addresses are in one method.
  CHECK(made.samples.each()[0].call == made.samples.each()[2].call);
  CHECK(made.frames[made.calls.frame(made.samples.each()[0].call)].name == "Orders.Price()");
  const profile::CallId caller = made.calls.caller(made.samples.each()[0].call);
  CHECK(made.frames[made.calls.frame(caller)].name.empty());
  CHECK(made.frames[made.calls.frame(caller)].address == 0x2000);
  CHECK(made.calls.caller(caller) == profile::kRoot);
}
