#include "router/agent/dumps/dump_need.hpp"

#include <catch2/catch.hpp>

using namespace farport;
using namespace farport::router;
using ipc::DumpType;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// Uses 60 MiB, 40 of them its own, and may write to 240 of its own.
DumpedProcess process(int version = 0, bool reading_takes_memory = true) {
  DumpedProcess process;
  process.status.memory = 60 * kMiB;
  process.status.own_memory = 240 * kMiB;
  process.status.own_pages = 40 * kMiB;
  process.status.swapped = 10 * kMiB;
  process.version = version;
  process.reading_takes_memory = reading_takes_memory;
  return process;
}

std::string refusal(std::uint64_t room, DumpType type, const std::string& into_memory = {}) {
  const auto enough = check_memory({room, {}}, "orders", process(), type, into_memory);
  return enough ? std::string() : enough.error().message();
}

}  // namespace

TEST_CASE("a dump with the heap brings in what the application does not use", "[router]") {
  for (const DumpType type : {DumpType::with_heap, DumpType::full}) {
    CHECK(dump_need(process(), type).brought_in == 200 * kMiB);
    CHECK(dump_need(process(), type).file > 240 * kMiB);
    // Where reading takes no memory it is only what was swapped out.
    CHECK(dump_need(process(0, false), type).brought_in == 10 * kMiB);
  }
  for (const DumpType type : {DumpType::normal, DumpType::triage}) {
    CHECK(dump_need(process(), type).brought_in == 0);
    CHECK(dump_need(process(), type).memory == 19 * kMiB);
    CHECK(dump_need(process(), type).file < 40 * kMiB);
  }
}

TEST_CASE("what createdump takes depends on its version and the threads", "[router]") {
  const auto memory = [](int version, std::uint64_t threads, DumpType type = DumpType::normal) {
    DumpedProcess dumped = process(version, false);
    dumped.status.swapped = 0;
    dumped.status.threads = threads;
    return dump_need(dumped, type).memory;
  };
  CHECK(memory(8, 0) == 10 * kMiB);
  CHECK(memory(10, 0) == 10 * kMiB);
  // One that is not known takes as much as the greediest that is.
  for (const int version : {0, 3, 9, 11}) CHECK(memory(version, 0) == 19 * kMiB);
  CHECK(memory(10, 1024) == 20 * kMiB);
  CHECK(memory(10, 0, DumpType::full) == 6 * kMiB);
}

TEST_CASE("what reading takes is measured, and is the same each time", "[router]") {
  const bool takes = reading_takes_memory();
  CHECK(reading_takes_memory() == takes);
}

TEST_CASE("a dump that the application would not live through is refused, with what fits", "[router]") {
  CHECK(refusal(219 * kMiB, DumpType::with_heap).empty());
  CHECK(check_memory({}, "orders", process(), DumpType::with_heap, "/tmp/dump").has_value());
  const std::string refused = refusal(218 * kMiB, DumpType::with_heap);
  for (const char* words : {"218 MiB of memory are left in its control group", "a heap dump takes 219 MiB",
                            "200 MiB of them", "--type mini takes 19 MiB", "--anyway"})
    CHECK_THAT(refused, Catch::Contains(words));
  CHECK(refusal(19 * kMiB, DumpType::normal).empty());
  CHECK_THAT(refusal(18 * kMiB, DumpType::normal), !Catch::Contains("--type mini"));
  const auto host = check_memory({{}, 100 * kMiB}, "orders", process(), DumpType::full, "");
  REQUIRE_FALSE(host);
  CHECK_THAT(host.error().message(), Catch::Contains("100 MiB of memory are left on its host"));
}

TEST_CASE("a file that takes memory counts as well", "[router]") {
  CHECK_FALSE(refusal(300 * kMiB, DumpType::with_heap, "/tmp/dump").empty());
  CHECK_THAT(refusal(300 * kMiB, DumpType::with_heap, "/tmp/dump"),
             Catch::Contains("/tmp/dump, which is in memory"));
  CHECK(refusal(600 * kMiB, DumpType::with_heap, "/tmp/dump").empty());
}
