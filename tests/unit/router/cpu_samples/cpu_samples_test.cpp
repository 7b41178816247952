// Samples that an agent has sent, as a profile.
#include "router/cpu_samples/cpu_samples.hpp"

#include <catch2/catch.hpp>

using namespace farport;
using namespace farport::router;
using namespace std::chrono_literals;
using profile::Frame;
using profile::FrameKind;

namespace {

constexpr std::uint64_t kKernel = 0xFFFF'FFFF'8100'0000;

/// A stack: main calls into the runtime, which calls a method, which calls a library, which calls the kernel.
CpuSamples example() {
  CpuSamples samples;
  samples.on_start({100, SampleClock::cpu_clock, true});
  samples.on_thread(7, "main");
  samples.on_call({0, 0x1005});
  samples.on_call({1, 0x2005});
  samples.on_call({2, 0x9005});
  samples.on_call({3, 0x3005});
  samples.on_call({4, kKernel + 5});
  samples.on_sample({20ms, 7, 5});
  samples.on_sample({10ms, 8, 4});
  samples.on_lost(2);
  samples.on_mapping({0x1000, 0x2000, 0x100, "/app/orders", "01"});
  samples.on_mapping({0x2000, 0x3000, 0, "/dotnet/libcoreclr.so", "02"});
  samples.on_mapping({0x3000, 0x4000, 0x400, "/tmp/libhot.so (deleted)", "03"});
  samples.on_symbol({0x1000, 0x1010, "main", ""});
  samples.on_symbol({kKernel, kKernel + 16, "do_sys_read", ""});
  samples.on_end(SamplingEnd::time_over, "");
  return samples;
}

CpuSamples::NameManaged managed() {
  return [](std::uint64_t address) -> std::optional<Frame> {
    if (address < 0x9000 || address >= 0x9010) return std::nullopt;
    return Frame{FrameKind::managed, "Orders.Quote()", "orders.dll", {}, 0};
  };
}

/// The frames of a stack, the innermost first.
std::vector<Frame> stack_of(const profile::Profile& profile, profile::CallId call) {
  std::vector<Frame> frames;
  for (; call != profile::kRoot; call = profile.calls.caller(call)) {
    frames.push_back(profile.frames[profile.calls.frame(call)]);
  }
  return frames;
}

}  // namespace

TEST_CASE("samples become a profile whose frames have the best names that there are", "[profile]") {
  profile::Profile profile;
  example().add_to(profile, managed());
  CHECK(profile.clock == profile::Clock::cpu);
  CHECK(profile.interval == 10ms);
  CHECK(profile.lost == 2);
  REQUIRE(profile.samples.size() == 2);
  // By time, whatever came first.
  CHECK(profile.samples.each()[0].time == 10ms);
  CHECK(profile.duration == 20ms);
  CHECK(profile.threads[profile.samples.each()[1].thread].name == "main");
  CHECK(profile.threads[profile.samples.each()[0].thread].id == 8);
  const std::vector<Frame> stack = stack_of(profile, profile.samples.each()[1].call);
  REQUIRE(stack.size() == 5);
  CHECK(stack[0] == Frame{FrameKind::kernel, "do_sys_read", "kernel", {}, 0});
  // Without a name: where it is in its file, whatever that is called now.
  CHECK(stack[1] == Frame{FrameKind::native, "", "libhot.so", "03", 0x405});
  CHECK(stack[2] == Frame{FrameKind::managed, "Orders.Quote()", "orders.dll", {}, 0});
  CHECK(stack[3] == Frame{FrameKind::runtime, "", "libcoreclr.so", "02", 5});
  CHECK(stack[4] == Frame{FrameKind::native, "main", "orders", {}, 0});
}

TEST_CASE("two places in one function are one frame, and one call", "[profile]") {
  CpuSamples samples;
  samples.on_start({100, SampleClock::cpu_clock, false});
  samples.on_call({0, 0x1001});
  samples.on_call({0, 0x1002});
  samples.on_sample({1ms, 7, 1});
  samples.on_sample({2ms, 7, 2});
  samples.on_symbol({0x1000, 0x1010, "spin", ""});
  profile::Profile profile;
  samples.add_to(profile, {});
  CHECK(profile.samples.each()[0].call == profile.samples.each()[1].call);
  CHECK(profile.frames.size() == 1);
}

TEST_CASE("what is no code has called nothing", "[profile]") {
  CpuSamples samples;
  samples.on_start({100, SampleClock::cpu_clock, true});
  samples.on_call({0, 0x5599'0000});
  samples.on_call({1, 0x5599'0000});
  samples.on_call({2, 0x1001});
  samples.on_call({3, kKernel});
  samples.on_call({0, 0x732F'0000});
  samples.on_sample({1ms, 7, 4});
  samples.on_sample({2ms, 7, 5});
  samples.on_symbol({0x1000, 0x1010, "malloc", ""});
  profile::Profile profile;
  samples.add_to(profile, {});
  const std::vector<Frame> stack = stack_of(profile, profile.samples.each()[0].call);
  REQUIRE(stack.size() == 2);
  CHECK(stack[1].name == "malloc");
  // It was interrupted there, whatever that is.
  CHECK(label_of(stack_of(profile, profile.samples.each()[1].call)[0]) == "0x732f0000");
}

TEST_CASE("without anything to go by, frames have their addresses, and the kernel's none", "[profile]") {
  CpuSamples samples;
  samples.on_start({100, SampleClock::cpu_clock, true});
  samples.on_call({0, 0x1001});
  samples.on_call({1, kKernel});
  samples.on_sample({1ms, 7, 2});
  samples.on_sample({1ms, 7, 0});
  profile::Profile profile;
  samples.add_to(profile, {});
  const std::vector<Frame> stack = stack_of(profile, profile.samples.each()[0].call);
  CHECK(label_of(stack[0]) == "[kernel]");
  CHECK(label_of(stack[1]) == "0x1001");
  CHECK(profile.samples.each()[1].call == profile::kRoot);
}

TEST_CASE("the count of what is lost has an end", "[profile]") {
  CpuSamples samples;
  samples.on_lost(UINT64_MAX);
  samples.on_lost(UINT64_MAX);
  CHECK(samples.lost() == UINT64_MAX);
}

TEST_CASE("what has no name in files with a build id can be named later", "[profile]") {
  CpuSamples samples = example();
  const auto unnamed = samples.unnamed(managed());
  REQUIRE(unnamed.size() == 2);
  CHECK(unnamed[0].parts.at(0).build_id == "02");
  CHECK(unnamed[0].addresses == std::vector<std::uint64_t>{0x2005});
  CHECK(unnamed[1].parts.at(0).build_id == "03");
  samples.on_symbol({0x2000, 0x2010, "coreclr_execute_assembly", ""});
  CHECK(samples.unnamed(managed()).size() == 1);
  // One that a method is at after all is no file's.
  CHECK(samples.unnamed([](std::uint64_t) { return Frame{}; }).empty());
}

TEST_CASE("parts of one file are one question, and a file without a build id is none", "[profile]") {
  CpuSamples samples;
  for (const std::uint64_t address : {0x5005, 0x1005, 0x1006, 0x3005, 0x1005}) samples.on_call({0, address});
  samples.on_mapping({0x1000, 0x2000, 0x100, "/app/orders", "01"});
  samples.on_mapping({0x3000, 0x4000, 0x900, "/app/orders", "01"});
  samples.on_mapping({0x5000, 0x6000, 0, "/app/other", ""});
  const auto unnamed = samples.unnamed({});
  REQUIRE(unnamed.size() == 1);
  CHECK(unnamed[0].parts.size() == 2);
  CHECK(unnamed[0].addresses == std::vector<std::uint64_t>{0x1005, 0x1006, 0x3005});
}
