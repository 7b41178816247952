#include <catch2/catch.hpp>

#include "cli/terminal/table.hpp"

using namespace farport::cli;
using Lines = std::vector<std::string>;

TEST_CASE("the width of text is what a terminal takes for it") {
  CHECK(columns_of("") == 0);
  CHECK(columns_of("orders") == 6);
  CHECK(columns_of("Größe") == 5);
  CHECK(columns_of("注文") == 4);
  CHECK(columns_of("e\xCC\x81") == 1);  // a letter and a combining accent
}

TEST_CASE("text that is too wide is cut off") {
  CHECK(cut("abcdef", 6) == "abcdef");
  CHECK(cut("abcdef", 4) == "abc…");
  CHECK(cut("abcdef", 0) == "abcdef");
  CHECK(cut("注文注文", 4) == "注…");
}

TEST_CASE("text is wrapped at spaces, and words that are too long anywhere") {
  CHECK(wrap("one two three", 0) == Lines{"one two three"});
  CHECK(wrap("one two three", 13) == Lines{"one two three"});
  CHECK(wrap("one two three", 8) == Lines{"one two", "three"});
  CHECK(wrap("one two three", 7) == Lines{"one two", "three"});
  CHECK(wrap("one two three", 8, 2) == Lines{"one two", "  three"});
  CHECK(wrap("abcdefgh ij", 4) == Lines{"abcd", "efgh", "ij"});
  CHECK(wrap("注文注文", 5) == Lines{"注文", "注文"});
  CHECK(wrap("", 5) == Lines{""});
  CHECK(wrap("注", 1) != Lines{});
}

TEST_CASE("a table lines up, fits its width, and obeys nothing that it shows") {
  CHECK(format_table({{"PID", "NAME"}, {"1", "orders"}, {"12345", "x"}}, 0) ==
        "PID    NAME\n1      orders\n12345  x\n");
  CHECK(format_table({{"abcdef"}}, 4) == "abc…\n");
  CHECK(format_table({{"ä", "b"}}, 0) == "ä  b\n");
  CHECK(format_table({{"注", "b"}, {"abc", "d"}}, 0) == "注   b\nabc  d\n");
  CHECK(format_table({{"a\x1b[31m\n\xC2\x9B"}}, 0) == "a\\x1b[31m\\n\\u{009b}\n");
}

TEST_CASE("a table that is too wide first cuts and then leaves out what matters least") {
  const std::vector<Column> columns{{"PID", 3}, {"NAME", 2, 6}, {"VERSION", 0}, {"COMMAND", 1, 7}};
  const std::vector<TableRow> rows{{"1", "orders-service", "10.0.0", "dotnet orders.dll"}};
  const std::string whole = "1    orders-service  10.0.0   dotnet orders.dll";
  CHECK(table_lines(columns, rows, 0)[1] == whole);
  CHECK(table_lines(columns, rows, whole.size())[1] == whole);
  CHECK(table_lines(columns, rows, 40)[1] == "1    orders-service  10.0.0   dotnet or…");
  CHECK(table_lines(columns, rows, 30)[1] == "1    orders…  10.0.0   dotnet…");
  CHECK(table_lines(columns, rows, 28)[1] == "1    orders-service  dotnet…");
  CHECK(table_lines(columns, rows, 27)[1] == "1    orders-servi…  dotnet…");
  CHECK(table_lines(columns, rows, 18)[1] == "1    orders-servi…");
  CHECK(table_lines(columns, rows, 8)[1] == "1");
  CHECK(table_lines(columns, rows, 2) == Lines{"P…", "1"});
  CHECK(table_lines(columns, {{"1"}}, 0)[1].substr(0, 1) == "1");
}
