#include <catch2/catch.hpp>

#include "router/readers/reader_frames.hpp"

using namespace farport;
using namespace farport::router;

namespace {

events::ThrownException an_exception() {
  events::ThrownException thrown;
  thrown.time = events::Time(std::chrono::microseconds(1'700'000'000'000'001));
  thrown.thread = 7;
  thrown.type = "Orders.NoPrice";
  thrown.message = "none for\n\"12\" \u00e9";
  thrown.hresult = 0x80131500;
  thrown.rethrown = true;
  thrown.stack = {0x7f0000001000, 0xffffffffffffffff};
  return thrown;
}

}  // namespace

TEST_CASE("an exception comes as it was told", "[readers]") {
  const auto told = decode_exception(encode_exception(an_exception()));
  REQUIRE(told);
  CHECK(told->time == an_exception().time);
  CHECK(told->thread == 7);
  CHECK(told->type == "Orders.NoPrice");
  CHECK(told->message == an_exception().message);
  CHECK(told->hresult == 0x80131500);
  CHECK(told->rethrown);
  CHECK_FALSE(told->nested);
  CHECK(told->stack == an_exception().stack);
}

TEST_CASE("an exception always has room in a frame", "[readers]") {
  auto thrown = an_exception();
  thrown.type = std::string(100'000, '\x01');
  thrown.message = std::string(100'000, '\x01');
  thrown.stack.assign(100'000, 0xffffffffffffffff);
  const std::string frame = encode_exception(thrown);
  CHECK(frame.size() <= kMaxFrame);
  CHECK(encode_exception(an_exception()).size() < kMaxFrame);
}

TEST_CASE("what is no exception is none", "[readers]") {
  for (
      const std::string text :
      {"", "[]", "{", "null", R"({"time":1})", R"({"time":"x","thread":7})",
       R"({"time":1,"thread":-7,"type":"","message":"","hresult":1,"rethrown":false,"nested":false,"stack":[]})",
       R"({"time":1,"thread":7,"type":"","message":"","hresult":1,"rethrown":false,"nested":false,"stack":["a"]})"})
    CHECK_FALSE(decode_exception(text));
  std::string many =
      R"({"time":1,"thread":7,"type":"","message":"","hresult":1,"rethrown":false,"nested":false,"stack":[0)";
  for (int i = 0; i < 5000; ++i) many += ",1";
  CHECK_FALSE(decode_exception(many + "]}"));
}

TEST_CASE("a method comes as it was told, with its addresses", "[readers]") {
  NamedMethods::Method method{0xfffffffffffffff0, 0xffffffffffffffff, {}};
  method.frame.name = "Orders.Pricing.Quote(int32)";
  method.frame.module = "orders.dll";
  const auto told = decode_method(encode_method(method));
  REQUIRE(told);
  CHECK(told->begin == method.begin);
  CHECK(told->end == method.end);
  CHECK(told->frame.name == method.frame.name);
  CHECK(told->frame.module == method.frame.module);
  CHECK(told->frame.kind == profile::FrameKind::managed);
  method.frame.name = std::string(100'000, 'x');
  CHECK(encode_method(method).size() < kMaxFrame);
  for (const std::string text : {"", "{}", "[1,2,3]", R"({"begin":"1","end":2,"name":"","module":""})"})
    CHECK_FALSE(decode_method(text));
}

TEST_CASE("named methods are found by any address of their code, and take only so much", "[readers]") {
  NamedMethods methods;
  methods.add({10, 20, {profile::FrameKind::managed, "a", "m", {}, 0}});
  methods.add({20, 30, {profile::FrameKind::managed, "b", "m", {}, 0}});
  CHECK(methods.find(9) == nullptr);
  CHECK(methods.find(10)->name == "a");
  CHECK(methods.find(19)->name == "a");
  CHECK(methods.find(29)->name == "b");
  CHECK(methods.find(30) == nullptr);
  const std::string name(std::size_t{1} << 20, 'x');
  for (std::uint64_t i = 0; i < 100; ++i)
    methods.add({100 + i, 101 + i, {profile::FrameKind::managed, name, "", {}, 0}});
  CHECK(methods.find(100) != nullptr);
  CHECK(methods.find(199) == nullptr);
}

TEST_CASE("a failure comes as it was, without its cause", "[readers]") {
  const Error told =
      decode_failure(encode_failure({"look into", "orders", "it is gone", "look elsewhere", {}}));
  CHECK(told.message() == Error{"look into", "orders", "it is gone", "look elsewhere"}.message());
  CHECK(decode_failure("").why == "its reader process gave no reason");
  CHECK(decode_failure(std::string(100'000, 'x')).message().size() < 2000);
}
