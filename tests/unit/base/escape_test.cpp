#include "base/escape.hpp"

#include <catch2/catch.hpp>

using farport::escape;

TEST_CASE("what can be read stays as it is when it is escaped") {
  for (const char* text : {"", "orders", "dotnet orders.dll --seconds 600", "C:\\new\\table", "Größe", "注文",
                           "заказы", "🚀 naïve", "e\xCC\x81", "\"quoted\" 'twice'"}) {
    CHECK(escape(text) == text);
  }
}

TEST_CASE("what a terminal or a reader of lines would obey is escaped") {
  CHECK(escape("a\nb\r\tc") == "a\\nb\\r\\tc");
  CHECK(escape(std::string_view("a\0b", 3)) == "a\\x00b");
  CHECK(escape("\x1b[31mred\x07") == "\\x1b[31mred\\a");
  CHECK(escape("\x7f") == "\\x7f");
  // C1, as UTF-8 and as bytes of their own.
  CHECK(escape("\xC2\x9B"
               "2J") == "\\u{009b}2J");
  CHECK(escape("\x9B"
               "2J") == "\\x9b2J");
  CHECK(escape("\xC2\x85") == "\\u{0085}");
  // Line and paragraph separators, and the directions of writing.
  CHECK(escape("\xE2\x80\xA8\xE2\x80\xA9") == "\\u{2028}\\u{2029}");
  CHECK(escape("\xE2\x80\xAE"
               "fdp.exe") == "\\u{202e}fdp.exe");
  CHECK(escape("\xE2\x81\xA6\xE2\x81\xA9\xE2\x80\x8E\xE2\x80\x8F\xD8\x9C") ==
        "\\u{2066}\\u{2069}\\u{200e}\\u{200f}\\u{061c}");
}

TEST_CASE("bytes that are no UTF-8 are shown as bytes") {
  CHECK(escape("\xFF\xFE") == "\\xff\\xfe");
  CHECK(escape("caf\xE9") == "caf\\xe9");
  CHECK(escape("\xC0\x8A") == "\\xc0\\x8a");           // an overlong newline
  CHECK(escape("\xE0\x80\x8A") == "\\xe0\\x80\\x8a");  // another one
  CHECK(escape("\xED\xA0\x80") == "\\xed\\xa0\\x80");  // a surrogate
  CHECK(escape("\xF4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
  CHECK(escape("\xE2\x82") == "\\xe2\\x82");  // cut off
  CHECK(escape("\xE2\x82"
               "a") ==
        "\\xe2\\x82"
        "a");
}
