#include "cli/output/top_table.hpp"

#include <catch2/catch.hpp>

#include "cli/terminal/table.hpp"

using namespace farport;
using namespace farport::cli;

namespace {

TopRuntime runtime(std::string name, double cpu, double memory) {
  TopRuntime made;
  made.runtime.name = std::move(name);
  made.vitals.cpu = cpu;
  made.vitals.working_set = memory;
  return made;
}

}  // namespace

TEST_CASE("bytes in five characters", "[top]") {
  CHECK(short_bytes(0) == "0B");
  CHECK(short_bytes(1023) == "1023B");
  CHECK(short_bytes(1536) == "1.5K");
  CHECK(short_bytes(120.0 * 1024 * 1024) == "120M");
  CHECK(short_bytes(3.0 * 1024 * 1024 * 1024) == "3.0G");
  CHECK(short_bytes(5e15) == "4547T");
}

TEST_CASE("a history in a few characters", "[top]") {
  CHECK(sparkline({}, 4).empty());
  CHECK(sparkline({0, 100}, 4) == "  ▁█");
  CHECK(sparkline({100, 50, 0, 0}, 2) == "▁▁");
}

TEST_CASE("rows are sorted, and fit", "[top]") {
  std::vector<TopRuntime> all{runtime("b", 1, 300), runtime("a", 50, 100), runtime("c\x1b[31m", 7, 200)};
  sort_runtimes(all, TopOrder::cpu, false);
  CHECK(all[0].runtime.name == "a");
  sort_runtimes(all, TopOrder::memory, true);
  CHECK(all[0].runtime.name == "a");
  sort_runtimes(all, TopOrder::name, false);
  CHECK(all[0].runtime.name == "a");
  for (const std::size_t columns : {200, 60, 20, 5}) {
    for (const std::string& line : top_lines(all, columns, true)) {
      CHECK(columns_of(line) <= columns);
      CHECK(line.find('\x1b') == std::string::npos);
    }
  }
  CHECK(top_order("memory") == TopOrder::memory);
  CHECK(top_order_of_key('M') == TopOrder::memory);
  CHECK_FALSE(top_order("size"));
  CHECK_FALSE(top_order_of_key('x'));
}
