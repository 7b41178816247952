#include <catch2/catch.hpp>

#include "cli/output/counter_screen.hpp"

using farport::cli::CounterRow;
using farport::cli::CounterTable;
using farport::cli::lines_of;
using farport::cli::short_tags;
using farport::cli::value_text;

TEST_CASE("values are shown in units that are read at a glance", "[cli]") {
  CHECK(value_text(5552557144, "By") == "5.2 GiB");
  CHECK(value_text(1023, "By") == "1023 B");
  CHECK(value_text(-2048, "B") == "-2 KiB");
  CHECK(value_text(0, "By") == "0 B");
  CHECK(value_text(0.025, "s") == "25 ms");
  CHECK(value_text(0.0000035, "s") == "3.5 µs");
  CHECK(value_text(119, "s") == "119 s");
  CHECK(value_text(12000, "s") == "3.3 h");
  CHECK(value_text(12.345, "%") == "12.35 %");
  CHECK(value_text(52.3, "MB") == "52.3 MB");
  CHECK(value_text(5552557144, "{object}") == "5,552,557,144");
  CHECK(value_text(-1234, "") == "-1,234");
  CHECK(value_text(0.5, "") == "0.5");
  CHECK(value_text(1e300, "") == "1e+300");
  CHECK(value_text(std::numeric_limits<double>::infinity(), "") == "inf");
  CHECK_FALSE(value_text(std::numeric_limits<double>::infinity(), "By").empty());
  CHECK_FALSE(value_text(std::numeric_limits<double>::quiet_NaN(), "s").empty());
}

TEST_CASE("of tags what tells series apart is shown", "[cli]") {
  CHECK(short_tags("gc.heap.generation=gen0") == "gen0");
  CHECK(short_tags("http.route=/orders,http.response.status_code=200") == "route=/orders status_code=200");
  CHECK(short_tags("http.route=/,Percentile=95") == "/ p95");
  CHECK(short_tags("Percentile=50") == "p50");
  CHECK(short_tags("list=a,b,c") == "a,b,c");
  CHECK(short_tags("empty=") == "empty=");
  CHECK(short_tags("word") == "word=");
  CHECK(short_tags(",,=,=") == short_tags(",,=,="));
}

TEST_CASE("an instrument's series stand below it", "[cli]") {
  CounterTable table;
  table["dotnet.gc.collections"]["gc.heap.generation=gen0"] = CounterRow{"", "", "{collection}", 12, 1};
  table["dotnet.gc.collections"]["gc.heap.generation=gen1"] = CounterRow{"", "", "{collection}", 3, 0};
  table["dotnet.process.memory.working_set"][""] = CounterRow{"", "", "By", 92274688, {}};
  table["things"][""] = CounterRow{"", "", "apples", 1, {}};
  CHECK(lines_of(table, 70) ==
        std::vector<std::string>{"  dotnet.gc.collections",
                                 "    gen0                                              12             1",
                                 "    gen1                                               3             0",
                                 "  dotnet.process.memory.working_set               88 MiB              ",
                                 "  things (apples)                                      1              "});
  table["things"].clear();
  CHECK(lines_of(table, 60)[3] == "  dotnet.process.memory.working_set");
  CHECK_THAT(lines_of(table, 60)[4], Catch::EndsWith(" 88 MiB              "));
  // The narrowest terminals get what fits.
  for (const std::string& line : lines_of(table, 20)) CHECK(line.size() <= 24);
}
