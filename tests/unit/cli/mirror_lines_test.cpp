#include <algorithm>

#include <catch2/catch.hpp>

#include "cli/output/mirror_view.hpp"
#include "cli/terminal/live_region.hpp"

using namespace farport;
using namespace farport::cli;
using Lines = std::vector<std::string>;

namespace {

router::MirrorRow row(const std::string& name, std::uint64_t pid, const std::string& agent = "a:9000") {
  router::MirrorRow row;
  row.runtime.name = name;
  row.runtime.pid = pid;
  row.runtime.version = "10.0.1";
  row.runtime.command_line = "dotnet " + name + ".dll";
  row.agent = agent;
  row.local_pid = 100 + static_cast<pid_t>(pid);
  return row;
}

MirrorState many(std::size_t rows, std::size_t errors) {
  MirrorState state;
  for (std::size_t i = 0; i < rows; ++i) state.rows.push_back(row("orders", i));
  state.links.push_back({"a:9000", true, ""});
  for (std::size_t i = 0; i < errors; ++i) state.links.push_back({"b:" + std::to_string(i), false, "no way"});
  state.hint = "Ctrl-C ends.";
  return state;
}

}  // namespace

TEST_CASE("a mirror's rows are sorted by host, name and pid") {
  std::vector<router::MirrorRow> rows{row("orders", 2), row("orders", 1), row("billing", 3),
                                      row("a", 4, "b:9000")};
  sort_rows(rows);
  std::vector<std::uint64_t> pids;
  for (const auto& each : rows) pids.push_back(each.runtime.pid);
  CHECK(pids == std::vector<std::uint64_t>{3, 1, 2, 4});
}

TEST_CASE("what a mirror shows fits its window, however much there is") {
  for (const std::size_t rows : {0U, 1U, 5U, 30U, 150U}) {
    for (const std::size_t errors : {0U, 1U, 7U, 150U}) {
      const MirrorState state = many(rows, errors);
      for (const std::size_t columns : {1U, 10U, 60U, 80U, 200U}) {
        for (const std::size_t height : {1U, 2U, 5U, 10U, 23U, 100U}) {
          INFO(rows << " rows, " << errors << " errors, " << columns << "x" << height);
          const Lines lines = mirror_lines(state, {columns, height});
          CHECK(lines.size() <= height);
          CHECK(std::all_of(lines.begin(), lines.end(),
                            [&](const auto& line) { return columns_of(line) <= columns; }));
        }
      }
    }
  }
}

TEST_CASE("what a mirror has no room for is counted, and neither runtimes nor errors push the others out") {
  const Lines lines = mirror_lines(many(100, 50), {80, 23});
  REQUIRE(lines.size() == 23);
  CHECK(lines[0].starts_with("LOCAL PID"));
  CHECK(lines[10] == "… and 91 more");
  CHECK(lines[11] == "no way; dialling again");
  CHECK(lines[21] == "… and 40 more");
  CHECK(lines[22] == "Ctrl-C ends.");
  CHECK(mirror_lines(many(100, 0), {0, 0}).size() == 102);
}

TEST_CASE("a link without runtimes is told of") {
  MirrorState state;
  state.links = {{"a:9000", true, ""}, {"b:9000", false, ""}, {"c:9000", false, "cannot; do this"}};
  CHECK(mirror_lines(state, {80, 23}) == Lines{"a:9000: connected; no runtime to mirror yet",
                                               "dialling b:9000", "cannot; do this; dialling again"});
  CHECK(mirror_lines(state, {20, 23}).size() == 6);
}

TEST_CASE("lines that a narrower terminal has wrapped are counted as they are shown") {
  CHECK(lines_taken({}, 80) == 0);
  CHECK(lines_taken({80, 0, 12}, 80) == 3);
  CHECK(lines_taken({80, 0, 12}, 40) == 4);
  CHECK(lines_taken({81}, 40) == 3);
  CHECK(lines_taken({81}, 0) == 1);
}
