#include "events/tags.hpp"

#include <catch2/catch.hpp>

using namespace farport::events;

namespace {

Tags read(std::string_view text) {
  return TagReader('=').read(text);
}

}  // namespace

TEST_CASE("tags are names and values", "[events]") {
  CHECK(read("").empty());
  CHECK(read("a=1,b=2") == Tags{{"a", "1"}, {"b", "2"}});
  CHECK(read("a=,b") == Tags{{"a", ",b"}});
  CHECK(read("alone") == Tags{{"alone", ""}});
  CHECK(read("Größe=1,b-c.d:e=2") == Tags{{"Größe", "1"}, {"b-c.d:e", "2"}});
  CHECK(TagReader(':').read("host:a,port:1=2") == Tags{{"host", "a"}, {"port", "1=2"}});
}

TEST_CASE("a value with commas is whole", "[events]") {
  CHECK(read("comma=a,b,c,equals=x=1,url=/api?filter=red,blue&sort=name") ==
        Tags{{"comma", "a,b,c"}, {"equals", "x=1"}, {"url", "/api?filter=red,blue&sort=name"}});
  CHECK(read("list=a,") == Tags{{"list", "a,"}});
  CHECK(read("list=,,") == Tags{{"list", ",,"}});
}

TEST_CASE("no name is there twice", "[events]") {
  CHECK(read("route=x,route=y") == Tags{{"route", "x,route=y"}});
}

TEST_CASE("the text of a request makes no tag", "[events]") {
  TagReader reader('=');
  std::ignore = reader.read("plain=simple,comma=a");
  CHECK(reader.read("route=/x,runtime=evil,comma=zz") == Tags{{"route", "/x,runtime=evil"}, {"comma", "zz"}});
  // Names that all series have, and those of the conventions, stand behind any value.
  TagReader of_requests('=');
  for (const char* path : {"/a", "/b"}) {
    const std::string text = std::string("path=") + path + ",tenant=1,http.response.status_code=200";
    CHECK(of_requests.read(text) ==
          Tags{{"path", path}, {"tenant", "1"}, {"http.response.status_code", "200"}});
  }
  CHECK(of_requests.read("path=/c,forged=1,tenant=2") == Tags{{"path", "/c,forged=1"}, {"tenant", "2"}});
}

TEST_CASE("any number of series and names can be read", "[events]") {
  TagReader reader('=');
  for (int i = 0; i < 5000; ++i) {
    const std::string number = std::to_string(i);
    CHECK(reader.read("path=/" + number + ",n" + number + "=1").size() <= 2);
  }
  CHECK(reader.read(std::string(100'000, ',')).size() == 1);
  std::string many;
  for (int i = 0; i < 50'000; ++i) many += "a" + std::to_string(i) + "=1,";
  const Tags read = reader.read(many);
  CHECK(read.size() == 64);
  CHECK(read.back().second.size() > 100'000);
}
