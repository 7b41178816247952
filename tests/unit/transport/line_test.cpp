#include <catch2/catch.hpp>

#include "tests/unit/streams.hpp"
#include "transport/stream.hpp"

using namespace farport;
using namespace farport::test;
using transport::NoLine;
using transport::read_line;

TEST_CASE("a line is read, and what follows is left") {
  Loop loop;
  auto [left, right] = make_pair(loop);
  auto scenario = [&]() -> Task<void> {
    const IoStatus sent = co_await write_all(*left, "first\r\n\nrest", true);
    CHECK(sent == IoStatus::ok);
    const auto first = co_await read_line(*right, 100);
    CHECK(first == "first\r");
    const auto empty = co_await read_line(*right, 1);
    CHECK(empty == "");
    const std::string rest = co_await read_all(*right);
    CHECK(rest == "rest");
  };
  loop.run(scenario());
}

TEST_CASE("a line that does not end, or is too long, is none") {
  Loop loop;
  auto [left, right] = make_pair(loop);
  auto scenario = [&]() -> Task<void> {
    const IoStatus sent = co_await write_all(*left, "12345\nx", true);
    CHECK(sent == IoStatus::ok);
    const auto cut = co_await read_line(*right, 5);
    REQUIRE_FALSE(cut);
    CHECK(cut.error() == NoLine::too_long);
    const auto left_over = co_await read_line(*right, 1);
    CHECK(left_over == "");
    const auto ended = co_await read_line(*right, 100);
    REQUIRE_FALSE(ended);
    CHECK(ended.error() == NoLine::ended);
  };
  loop.run(scenario());
}

TEST_CASE("a flood of short lines is passed over, and what follows the wanted one is left") {
  Loop loop;
  auto [left, right] = make_pair(loop);
  std::string flood;
  for (int i = 0; i < 20'000; ++i) flood += "y\n";
  auto scenario = [&]() -> Task<void> {
    transport::TaskSet tasks(loop);
    tasks.spawn([](Stream& to, std::string text) -> Task<void> {
      std::ignore = co_await write_all(to, std::move(text), true);
    }(*left, flood + "this\nrest"));
    transport::LineFilter wanted = [](std::string_view line) { return line == "this"; };
    const auto found = co_await transport::read_to_line(*right, wanted, 100'000);
    CHECK(found == "this");
    const std::string rest = co_await read_all(*right);
    CHECK(rest == "rest");
    co_await tasks.idle();
  };
  loop.run(scenario());
}
