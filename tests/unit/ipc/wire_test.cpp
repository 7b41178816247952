#include "ipc/wire.hpp"

#include <limits>

#include <catch2/catch.hpp>

#include "base/text.hpp"
#include "tests/unit/ipc/bytes.hpp"

using farport::Guid;
using farport::to_utf16;
using farport::to_utf8;
using farport::ipc::Bytes;
using farport::ipc::Reader;
using farport::ipc::Writer;
using farport::test::hex;

TEST_CASE("numbers are little-endian", "[ipc]") {
  Writer out;
  out.u8(0x12);
  out.u16(0x1234);
  out.u32(0x12345678);
  out.u64(0x123456789ABCDEF0);
  out.boolean(true);
  out.boolean(false);
  const Bytes bytes = out.take();
  CHECK(bytes == hex("12 3412 78563412 F0DEBC9A78563412 01 00"));

  Reader in(bytes, "numbers");
  CHECK(in.u8() == 0x12);
  CHECK(in.u16() == 0x1234);
  CHECK(in.u32() == 0x12345678);
  CHECK(in.u64() == 0x123456789ABCDEF0);
  CHECK(in.boolean());
  CHECK_FALSE(in.boolean());
  CHECK(in.remaining() == 0);
  CHECK_FALSE(in.failed());
}

TEST_CASE("any byte but zero is true", "[ipc]") {
  const Bytes bytes = hex("80");
  CHECK(Reader(bytes, "a bool").boolean());
}

TEST_CASE("a reader past the end fails once and reads zeros from then on", "[ipc]") {
  const Bytes bytes = hex("01 02 03");
  Reader in(bytes, "three bytes");
  CHECK(in.u16() == 0x0201);
  CHECK(in.u16() == 0);
  CHECK(in.failed());
  CHECK(in.u8() == 0);
  CHECK(in.string().empty());
  CHECK(in.u32_array().empty());
  CHECK(in.byte_array().empty());
  CHECK(in.guid() == Guid{});
  in.reject("something else");
  const auto result = in.result(1);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().message() ==
        "cannot decode three bytes: it ends at byte 3, within a field of 2 bytes at byte 2");
}

TEST_CASE("strings are counted UTF-16 with a terminating zero", "[ipc]") {
  Writer out;
  out.string("dé😀");
  out.string("");
  out.optional_string(std::nullopt);
  const Bytes bytes = out.take();
  CHECK(bytes == hex("05000000 6400 E900 3DD8 00DE 0000  01000000 0000  00000000"));

  Reader in(bytes, "strings");
  CHECK(in.string() == "dé😀");
  CHECK(in.optional_string() == "");
  CHECK(in.optional_string() == std::nullopt);
  CHECK_FALSE(in.failed());
}

TEST_CASE("a string without its zero is refused, one with an early zero ends there", "[ipc]") {
  const Bytes open = hex("02000000 6100 6200");
  Reader without(open, "a string");
  CHECK(without.string().empty());
  CHECK(without.failed());

  const Bytes early = hex("04000000 6100 0000 6200 0000");
  Reader in(early, "a string");
  CHECK(in.string() == "a");
  CHECK(in.remaining() == 0);
}

TEST_CASE("counts that lie are refused before anything is allocated", "[ipc]") {
  for (const char* bytes : {"FFFFFFFF 6100", "00000080 6100 0000", "02000000 6100 00", "01000080 0000"}) {
    const Bytes payload = hex(bytes);
    INFO(bytes);
    Reader as_string(payload, "a string");
    CHECK(as_string.string().empty());
    CHECK(as_string.failed());
    Reader as_array(payload, "an array");
    CHECK(as_array.u32_array().empty());
    CHECK(as_array.failed());
  }
  const Bytes bytes = hex("03000000 0102");
  Reader in(bytes, "bytes");
  CHECK(in.byte_array().empty());
  CHECK(in.result(0).error().why == "the count before byte 4 is 3, but only 2 bytes follow");
}

TEST_CASE("arrays go both ways", "[ipc]") {
  Writer out;
  out.u32_array({1, std::numeric_limits<std::uint32_t>::max()});
  out.u32_array({});
  const Bytes bytes = out.take();
  CHECK(bytes == hex("02000000 01000000 FFFFFFFF 00000000"));
  Reader in(bytes, "arrays");
  CHECK(in.u32_array() == std::vector<std::uint32_t>{1, 0xFFFFFFFF});
  CHECK(in.u32_array().empty());
  CHECK_FALSE(in.failed());
}

TEST_CASE("a GUID is written in .NET's order", "[ipc]") {
  const Bytes bytes = hex("67453e12 9be8 d312 a456 426614174000");
  const Guid guid = Reader(bytes, "a GUID").guid();
  CHECK(guid.to_string() == "123e4567-e89b-12d3-a456-426614174000");
  CHECK(Guid::parse("123E4567-e89b-12D3-A456-426614174000") == guid);
  Writer out;
  out.guid(guid);
  CHECK(out.take() == bytes);
}

TEST_CASE("other texts are no GUIDs", "[ipc]") {
  for (const char* text : {"", "123e4567-e89b-12d3-a456-42661417400", "123e4567-e89b-12d3-a456-4266141740000",
                           "{23e4567-e89b-12d3-a456-42661417400}", "123e4567-e89b-12d3-a456_426614174000",
                           "123e4567-e89b-12d3-a456-42661417400g", "123e4567e89b-12d3-a456-4266141740000"}) {
    INFO(text);
    CHECK_FALSE(Guid::parse(text).has_value());
  }
}

TEST_CASE("a surrogate without its other half is replaced", "[ipc]") {
  CHECK(to_utf8(u"\xD83D\xDE00") == "😀");
  CHECK(to_utf8(u"a\xD83D") == "a\xEF\xBF\xBD");
  CHECK(to_utf8(u"\xDE00z") == "\xEF\xBF\xBDz");
  CHECK(to_utf8(u"\xDE00\xD83D") == "\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(to_utf8(u"\xD83D\xD83D\xDE00") == "\xEF\xBF\xBD😀");
}

TEST_CASE("invalid UTF-8 is replaced", "[ipc]") {
  CHECK(to_utf16("\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF") == u"\x7F\x80\x7FF\x800\xFFFF");
  CHECK(to_utf16("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF") == u"\xD800\xDC00\xDBFF\xDFFF");
  CHECK(to_utf16("\x80") == u"\xFFFD");
  CHECK(to_utf16("\xC0\x80") == u"\xFFFD\xFFFD");
  CHECK(to_utf16("\xE0\x9F\xBF") == u"\xFFFD\xFFFD\xFFFD");
  CHECK(to_utf16("\xED\xA0\x80") == u"\xFFFD\xFFFD\xFFFD");
  CHECK(to_utf16("\xF4\x90\x80\x80") == u"\xFFFD\xFFFD\xFFFD\xFFFD");
  CHECK(to_utf16("\xE2\x82") == u"\xFFFD");
  CHECK(to_utf16("\xE2\x82z") == u"\xFFFDz");
  CHECK(to_utf16("\xF0\x9F\x98\xF0\x9F\x98\x80") == u"\xFFFD\xD83D\xDE00");
}
