#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "events/lines.hpp"
#include "events/providers.hpp"
#include "events/sampled_profile.hpp"
#include "tests/unit/events/sample_event.hpp"

using namespace farport;
using namespace farport::events;
using test::SampleEvent;

namespace {

void take_sample(ThreadStacks& into, std::vector<std::uint64_t> stack, std::uint32_t kind,
                 std::uint64_t thread) {
  SampleEvent sample(kSampleProvider, 0);
  sample.payload.u32(kind);
  sample.addresses = std::move(stack);
  sample.thread.id = thread;
  into.on_event(sample.event());
}

std::vector<ThreadStack> all_of(const ThreadStacks& stacks) {
  std::vector<ThreadStack> all;
  stacks.each([&all](const ThreadStack& each) { all.push_back(each); });
  return all;
}

template <typename Taker>
void take_method(Taker& into, std::uint64_t begin, const char* name) {
  SampleEvent method(kRundownProvider, 144);
  method.payload.u64(1).u64(9).u64(begin).u32(0x10).u32(0).u32(0).utf16("Orders").utf16(name).utf16(
      "void ()");
  into.on_event(method.event());
}

}  // namespace

TEST_CASE("each thread does what its last sample says", "[events]") {
  ThreadStacks stacks;
  take_sample(stacks, {0x1008, 0x2000}, 2, 20);
  take_sample(stacks, {0x3000}, 2, 3);
  take_sample(stacks, {0x100F, 0x1010}, 1, 20);
  take_sample(stacks, {}, 2, 21);
  take_method(stacks, 0x1000, "Price");
  const auto all = all_of(stacks);
  REQUIRE(all.size() == 2);
  CHECK(all[0].thread == 3);
  CHECK(all[0].managed == true);
  CHECK(all[0].frames == std::vector<std::string>{"0x3000"});
  CHECK(all[1].thread == 20);
  CHECK(all[1].managed == false);
  CHECK(all[1].frames == std::vector<std::string>{"Orders.Price()", "0x1010"});
}

TEST_CASE("stacks are a list of JSON, however many there are", "[events]") {
  ThreadStacks stacks;
  const auto json_of = [&stacks] {
    std::string text;
    write_json([&stacks](const auto& take) { stacks.each(take); },
               [&text](std::string_view piece) { text += piece; });
    return text;
  };
  CHECK(json_of() == "[]\n");
  take_sample(stacks, {0x3000}, 2, 3);
  take_sample(stacks, {0x3000}, 1, 4);
  CHECK(json_of() == nlohmann::ordered_json::parse(json_of()).dump(2) + "\n");
}

TEST_CASE("more stacks than are kept are left out, and counted", "[events]") {
  ThreadStacks stacks;
  const std::vector<std::uint64_t> longest(4096, 0x3000);
  for (std::uint64_t thread = 0; thread < 1030; ++thread) take_sample(stacks, longest, 2, thread);
  CHECK(stacks.left_out() == 6);
  // Those that are known may get shorter.
  take_sample(stacks, {0x3000}, 2, 5);
  take_sample(stacks, longest, 2, 5);
  CHECK(stacks.left_out() == 6);
  // So that not all of four million calls are named.
  for (std::uint64_t thread = 0; thread < 1024; ++thread) take_sample(stacks, {0x3000}, 2, thread);
  CHECK(all_of(stacks).size() == 1024);
}

TEST_CASE("a table of wanted methods keeps no other", "[events]") {
  CodeAddresses wanted;
  MethodTable methods(wanted);
  const auto tell = [&](std::uint64_t begin) {
    SampleEvent method(kRundownProvider, 144);
    method.payload.u64(1).u64(9).u64(begin).u32(0x10).u32(0).u32(0).utf16("A").utf16("B").utf16("void ()");
    methods.add(method.event());
  };
  tell(0x1000);
  wanted.add({0x1010, 0x0FFF, 0x202F});
  tell(0x1000);
  tell(0x2020);
  CHECK(methods.size() == 1);
  CHECK(methods.names_of({0x202F, 0x2030}) == std::vector<std::string>{"A.B()", "0x2030"});
}

TEST_CASE("a report says how many exceptions it has left out", "[events]") {
  ExceptionReport report;
  SampleEvent any(kRundownProvider, 1);
  report.on_dropped(any.thread, 3);
  CHECK(report.drain_lines().empty());
  CHECK(report.take_end().value() == "{\"left_out\":3}\n");
}
