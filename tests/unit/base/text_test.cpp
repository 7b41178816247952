#include "base/text.hpp"

#include <catch2/catch.hpp>

using namespace farport;

TEST_CASE("a number is the whole text, and fits its type") {
  CHECK(number_in<int>("42") == 42);
  CHECK(number_in<int>("-42") == -42);
  CHECK(number_in<std::uint64_t>("18446744073709551615") == UINT64_MAX);
  CHECK(number_in<std::uint32_t>("ff", 16) == 255);
  CHECK(number_in<double>("12.5") == 12.5);
  for (const char* text : {"", " ", "4 ", " 4", "4x", "+4", "-4", "0x4", "4.0", "256"}) {
    CAPTURE(text);
    CHECK_FALSE(number_in<std::uint8_t>(text));
  }
  CHECK_FALSE(number_in<double>("12,5"));
}

TEST_CASE("the largest number is no user's") {
  CHECK(user_number_in("0") == uid_t{0});
  CHECK(user_number_in("4294967294") == uid_t{4294967294});
  CHECK_FALSE(user_number_in("4294967295"));
  CHECK_FALSE(user_number_in("root"));
}

TEST_CASE("digits are told from other text") {
  CHECK(all_digits("007"));
  CHECK_FALSE(all_digits(""));
  CHECK_FALSE(all_digits("7 "));
  CHECK_FALSE(all_digits("-7"));
}

TEST_CASE("an IP address is told from a name, and from an address with more to it") {
  CHECK(ip_address_bytes("10.0.0.2") == std::vector<std::uint8_t>{10, 0, 0, 2});
  CHECK(ip_address_bytes("fd00::2").size() == 16);
  CHECK(is_ip_address("::"));
  for (const char* text :
       {"", "localhost", "10.0.0", "10.0.0.2:9000", "[::1]", "fe80::1%eth0", "10.0.0.0/8"}) {
    CAPTURE(text);
    CHECK_FALSE(is_ip_address(text));
  }
}

TEST_CASE("only ASCII letters and digits count as such") {
  for (const char c : {'a', 'z', 'A', 'Z', '0', '9'}) CHECK(is_letter_or_digit(c));
  for (const char c : {'-', '_', ' ', '\0', '@', '[', '`', '{', '\xE4'}) CHECK_FALSE(is_letter_or_digit(c));
}

TEST_CASE("a text is shortened between two characters") {
  CHECK(shortened("Größe", 20) == "Größe");
  CHECK(shortened("Größe", 3) == "Gr");
  CHECK(shortened("Größe", 4) == "Grö");
  CHECK(shortened("🚀", 3).empty());
  CHECK(shortened("orders", 0).empty());
  CHECK(shortened("\x80\x80\x80\x80\x80\x80", 5).size() == 5);
}

TEST_CASE("a text is taken part by part") {
  std::string_view rest = "a::bc";
  CHECK(take_until(rest, ':') == "a");
  CHECK(take_until(rest, ':').empty());
  CHECK(rest == "bc");
  CHECK(take_until(rest, ':') == "bc");
  CHECK(rest.empty());
  CHECK(take_until(rest, ':').empty());
}
