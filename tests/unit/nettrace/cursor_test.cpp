#include "nettrace/cursor.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/nettrace/trace_writer.hpp"

using namespace farport::nettrace;
using farport::Guid;
using farport::test::Bytes;
using farport::test::FieldWriter;

namespace {

constexpr std::uint64_t kBegin = 100;  // in the stream

Cursor cursor_of(const FieldWriter& writer) {
  return {writer.take(), kBegin};
}

}  // namespace

TEST_CASE("numbers are little-endian and follow each other", "[nettrace]") {
  const auto writer = FieldWriter().u8(0xFE).u16(0x1234).u32(0xDEADBEEF).u64(0xFFFFFFFFFFFFFFFE).guid(7);
  Cursor in = cursor_of(writer);
  CHECK(in.u8() == 0xFE);
  CHECK(in.u16() == 0x1234);
  CHECK(in.u32() == 0xDEADBEEF);
  CHECK(in.offset() == kBegin + 7);
  CHECK(in.i64() == -2);
  CHECK(in.remaining() == 16);
  CHECK(in.guid().bytes[15] == std::byte{7});
  CHECK(in.at_end());
  CHECK_FALSE(in.failed());
}

TEST_CASE("a field beyond the end makes a cursor fail once and for all", "[nettrace]") {
  const auto writer = FieldWriter().u16(1).u16(2);
  Cursor in = cursor_of(writer);
  CHECK(in.u16() == 1);
  CHECK(in.u32() == 0);
  CHECK(in.failed());
  CHECK(in.at_end());
  CHECK(in.u8() == 0);
  CHECK(in.take(1).empty());
  in.reject("something else");
  CHECK(in.outcome().error().message() ==
        "cannot read the trace at byte 102: a field goes beyond the end of what holds it");
  const auto short_one = FieldWriter().u8(1);
  CHECK(cursor_of(short_one).guid() == Guid{});
}

TEST_CASE("a size larger than memory is no more than any other that is too large", "[nettrace]") {
  const auto writer = FieldWriter().u8(0);
  Cursor in = cursor_of(writer);
  CHECK(in.take(SIZE_MAX).empty());
  CHECK(in.failed());
}

TEST_CASE("numbers of variable length have as many bits as they may", "[nettrace]") {
  const auto read = [](std::initializer_list<int> bytes, bool wide) {
    FieldWriter writer;
    for (const int byte : bytes) writer.u8(byte);
    Cursor in = cursor_of(writer);
    const std::uint64_t value = wide ? in.var_u64() : in.var_u32();
    return in.failed() ? "failed" : std::to_string(value) + (in.at_end() ? "" : " and more");
  };
  CHECK(read({0x00}, false) == "0");
  CHECK(read({0x7F, 0x01}, false) == "127 and more");
  CHECK(read({0x80, 0x01}, false) == "128");
  CHECK(read({0x80, 0x00}, false) == "0");
  CHECK(read({0xFF, 0xFF, 0xFF, 0xFF, 0x0F}, false) == "4294967295");
  CHECK(read({0xFF, 0xFF, 0xFF, 0xFF, 0x1F}, false) == "failed");
  CHECK(read({0x80, 0x80, 0x80, 0x80, 0x80, 0x00}, false) == "0");
  CHECK(read({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01}, true) == "18446744073709551615");
  CHECK(read({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02}, true) == "failed");
  CHECK(read({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}, true) == "failed");
  CHECK(read({0x80, 0x80}, true) == "failed");
  CHECK(read({}, true) == "failed");
}

TEST_CASE("signed numbers of variable length have their sign in the lowest bit", "[nettrace]") {
  const auto writer = FieldWriter().var(0).var(1).var(2).var(UINT64_MAX).var(UINT64_MAX - 1);
  Cursor in = cursor_of(writer);
  CHECK(in.var_i64() == 0);
  CHECK(in.var_i64() == -1);
  CHECK(in.var_i64() == 1);
  CHECK(in.var_i64() == INT64_MIN);
  CHECK(in.var_i64() == INT64_MAX);
}

TEST_CASE("texts become UTF-8 whatever they are", "[nettrace]") {
  const auto writer = FieldWriter()
                          .u16('a')
                          .u16(0xD83D)
                          .u16(0xDE00)
                          .u16(0xD800)
                          .u16(0)
                          .utf8("b\xC3\xA4")
                          .utf8("\xFFz")
                          .utf8("");
  Cursor in = cursor_of(writer);
  CHECK(in.utf16() == "a😀\xEF\xBF\xBD");
  CHECK(in.utf8() == "bä");
  CHECK(in.utf8() == "\xEF\xBF\xBDz");
  CHECK(in.utf8().empty());
  CHECK(in.at_end());
}

TEST_CASE("a text that is not ended is refused", "[nettrace]") {
  const auto unended = FieldWriter().u16('a').u8(0);
  Cursor odd = cursor_of(unended);
  CHECK(odd.utf16().empty());
  CHECK(odd.outcome().error().why == "a text is not ended");
  const auto short_one = FieldWriter().var(3).text("ab");
  Cursor counted = cursor_of(short_one);
  CHECK(counted.utf8().empty());
  CHECK(counted.failed());
}

TEST_CASE("a part is read by itself", "[nettrace]") {
  const auto writer = FieldWriter().u16(1).u16(2).u16(3);
  Cursor in = cursor_of(writer);
  in.u16();
  Cursor part = in.part(2);
  CHECK(part.offset() == kBegin + 2);
  CHECK(part.u16() == 2);
  part.u8();
  CHECK(part.failed());
  CHECK(in.u16() == 3);
  CHECK_FALSE(in.failed());
  CHECK(in.part(1).failed());
}
