#include "nettrace/payload.hpp"

#include <catch2/catch.hpp>

#include "nettrace/cursor.hpp"
#include "tests/unit/nettrace/trace_writer.hpp"

using namespace farport::nettrace;
using farport::Guid;
using farport::test::Bytes;
using farport::test::FieldWriter;

namespace {

Field field(FieldType type, std::vector<Field> fields = {}, std::uint16_t count = 0) {
  return {.name = "", .type = type, .count = count, .fields = std::move(fields)};
}

farport::Result<Structure> decode(std::vector<Field> fields, const FieldWriter& payload) {
  Definition definition;
  definition.fields = std::move(fields);
  auto decoded = decode_payload(definition, payload.take(), 1'000);
  // The names end with the definition.
  if (decoded) {
    for (Member& member : *decoded) member.name = {};
  }
  return decoded;
}

/// The only value of a payload that has one field.
Value value_of(const Field& of, const FieldWriter& payload) {
  const auto decoded = decode({of}, payload);
  REQUIRE(decoded.has_value());
  REQUIRE(decoded->size() == 1);
  return decoded->front().value;
}

template <typename Is>
Value is(Is value) {
  return {std::move(value)};
}

std::string why(std::vector<Field> fields, const FieldWriter& payload) {
  const auto decoded = decode(std::move(fields), payload);
  return decoded ? "none" : decoded.error().why;
}

constexpr auto kSigned = [](std::int64_t value) { return is(value); };
constexpr auto kUnsigned = [](std::uint64_t value) { return is(value); };
const std::string kBeyond = "a field goes beyond the end of what holds it";

}  // namespace

TEST_CASE("plain fields become values", "[nettrace]") {
  CHECK(value_of(field(FieldType::boolean32), FieldWriter().u32(2)) == is(true));
  CHECK(value_of(field(FieldType::boolean8), FieldWriter().u8(0)) == is(false));
  CHECK(value_of(field(FieldType::int8), FieldWriter().u8(0xFF)) == kSigned(-1));
  CHECK(value_of(field(FieldType::uint8), FieldWriter().u8(0xFF)) == kUnsigned(255));
  CHECK(value_of(field(FieldType::int16), FieldWriter().u16(0xFFFE)) == kSigned(-2));
  CHECK(value_of(field(FieldType::uint16), FieldWriter().u16(0xFFFE)) == kUnsigned(65534));
  CHECK(value_of(field(FieldType::int32), FieldWriter().u32(0x80000000)) == kSigned(INT32_MIN));
  CHECK(value_of(field(FieldType::uint32), FieldWriter().u32(0x80000000)) == kUnsigned(0x80000000));
  CHECK(value_of(field(FieldType::int64), FieldWriter().u64(UINT64_MAX)) == kSigned(-1));
  CHECK(value_of(field(FieldType::uint64), FieldWriter().u64(UINT64_MAX)) == kUnsigned(UINT64_MAX));
  CHECK(value_of(field(FieldType::var_int), FieldWriter().var(3)) == kSigned(-2));
  CHECK(value_of(field(FieldType::var_uint), FieldWriter().var(300)) == kUnsigned(300));
  CHECK(value_of(field(FieldType::float32), FieldWriter().u32(0x3FC00000)) == is(1.5));
  CHECK(value_of(field(FieldType::float64), FieldWriter().u64(0x3FF8000000000000)) == is(1.5));
  CHECK(value_of(field(FieldType::utf16_unit), FieldWriter().u16(0xE4)) == is(std::string("ä")));
  CHECK(value_of(field(FieldType::utf8_unit), FieldWriter().u8('a')) == is(std::string("a")));
  CHECK(value_of(field(FieldType::utf8_unit), FieldWriter().u8(0xE4)) == is(std::string("ä")));
  CHECK(value_of(field(FieldType::utf16_text), FieldWriter().utf16("abc")) == is(std::string("abc")));
  CHECK(value_of(field(FieldType::file_time), FieldWriter().u64(5)) == is(FileTime{5}));
  CHECK(std::get<Guid>(value_of(field(FieldType::guid), FieldWriter().guid(3)).is).bytes[0] == std::byte{3});
  CHECK(std::get<Decimal>(value_of(field(FieldType::decimal), FieldWriter().guid(3)).is).bytes[9] ==
        std::byte{3});
}

TEST_CASE("fields follow each other, under their names", "[nettrace]") {
  Definition definition;
  definition.fields = {{.name = "a", .type = FieldType::uint8, .fields = {}},
                       {.name = "b", .type = FieldType::structure, .fields = {field(FieldType::uint8)}}};
  definition.fields[1].fields[0].name = "c";
  const Bytes payload = FieldWriter().u8(1).u8(2).u8(3).take();
  const Structure members = decode_payload(definition, payload, 0).value();
  REQUIRE(members.size() == 2);
  CHECK(members[0].name == "a");
  CHECK(members[0].value == kUnsigned(1));
  CHECK(members[1].name == "b");
  const auto& inner = std::get<Structure>(members[1].value.is);
  REQUIRE(inner.size() == 1);
  CHECK(inner[0].name == "c");
  CHECK(inner[0].value == kUnsigned(2));
}

TEST_CASE("arrays become arrays, texts or bytes", "[nettrace]") {
  const auto array = [](FieldType element) { return field(FieldType::array, {field(element)}); };
  CHECK(value_of(array(FieldType::uint16), FieldWriter().u16(2).u16(7).u16(8)) ==
        is(Array{kUnsigned(7), kUnsigned(8)}));
  CHECK(value_of(array(FieldType::uint16), FieldWriter().u16(0)) == is(Array{}));
  CHECK(value_of(array(FieldType::uint8), FieldWriter().u16(2).u8(7).u8(8)) ==
        is(Blob{std::byte{7}, std::byte{8}}));
  CHECK(value_of(array(FieldType::utf16_unit), FieldWriter().u16(2).u16('a').u16(0xD800)) ==
        is(std::string("a\xEF\xBF\xBD")));
  CHECK(value_of(array(FieldType::utf8_unit), FieldWriter().u16(2).u8('a').u8(0xFF)) ==
        is(std::string("a\xEF\xBF\xBD")));
  CHECK(value_of(field(FieldType::fixed_array, {field(FieldType::int8)}, 2), FieldWriter().u8(1).u8(2)) ==
        is(Array{kSigned(1), kSigned(2)}));
  const Field pairs =
      field(FieldType::array,
            {field(FieldType::structure, {field(FieldType::utf16_text), field(FieldType::int8)})});
  const Value value = value_of(pairs, FieldWriter().u16(1).utf16("k").u8(1));
  CHECK(std::get<Structure>(std::get<Array>(value.is).at(0).is).at(1).value == kSigned(1));
}

TEST_CASE("arrays lie elsewhere in the payload", "[nettrace]") {
  const Field relative = field(FieldType::relative_array, {field(FieldType::utf8_unit)});
  const Field absolute = field(FieldType::absolute_array, {field(FieldType::uint16)});
  // At 4 behind the first field, and at 8 and 10 from the beginning.
  const auto payload = FieldWriter().u32(2 << 16 | 4).u32(4 << 16 | 10).text("ab").u16(7).u16(8);
  const Structure members = decode({relative, absolute}, payload).value();
  CHECK(members[0].value == is(std::string("ab")));
  CHECK(members[1].value == is(Array{kUnsigned(7), kUnsigned(8)}));
  CHECK(value_of(field(FieldType::absolute_array, {field(FieldType::uint8)}), FieldWriter().u32(0)) ==
        is(Blob{}));
}

TEST_CASE("arrays elsewhere stay within the payload", "[nettrace]") {
  const auto elsewhere = [](FieldType type, FieldType element) { return field(type, {field(element)}); };
  const std::string beyond = "an array goes beyond its payload";
  CHECK(why({elsewhere(FieldType::absolute_array, FieldType::uint16)}, FieldWriter().u32(2 << 16 | 3)) ==
        beyond);
  CHECK(why({elsewhere(FieldType::relative_array, FieldType::uint16)}, FieldWriter().u32(2 << 16)) == beyond);
  CHECK(why({elsewhere(FieldType::relative_array, FieldType::uint16)}, FieldWriter().u32(0 << 16 | 1)) ==
        beyond);
  CHECK(why({elsewhere(FieldType::absolute_array, FieldType::uint32)}, FieldWriter().u32(3 << 16)) == beyond);
  // A few of the same bytes would become any number of values.
  const Field whole = elsewhere(FieldType::absolute_array, FieldType::utf8_unit);
  const auto twice = FieldWriter().u32(8 << 16).u32(8 << 16);
  CHECK(why({whole, whole}, twice) == beyond);
  const Field nothing = field(FieldType::absolute_array, {field(FieldType::structure)});
  CHECK(why({nothing}, FieldWriter().u32(4 << 16)) == beyond);
}

TEST_CASE("a payload ends where it ends", "[nettrace]") {
  CHECK(why({field(FieldType::int32)}, FieldWriter().u16(1)) == kBeyond);
  CHECK(why({field(FieldType::utf16_text)}, FieldWriter().u16('a')) == "a text is not ended");
  CHECK(why({field(FieldType::array, {field(FieldType::int32)})}, FieldWriter().u16(0xFFFF).u32(1)) ==
        kBeyond);
  CHECK(why({field(FieldType::array, {field(FieldType::uint8)})}, FieldWriter().u16(2).u8(1)) == kBeyond);
  CHECK(decode({field(FieldType::int8)}, FieldWriter().u8(1).u8(2)).value().size() == 1);
  CHECK(decode({field(FieldType::int8)}, {}).error().on == "the trace at byte 1000");
}

TEST_CASE("values end before a field of an unknown type", "[nettrace]") {
  const auto payload = FieldWriter().u8(1).u8(2).u8(3);
  CHECK(decode({field(FieldType::int8), field(FieldType::unknown), field(FieldType::int8)}, payload)
            .value()
            .size() == 1);
  CHECK(decode({field(FieldType::structure, {field(FieldType::unknown)})}, payload).value().empty());
  CHECK(decode({field(FieldType::fixed_array, {field(FieldType::unknown)}, 1)}, payload).value().empty());
  CHECK(decode({field(FieldType::absolute_array, {field(FieldType::unknown)})}, FieldWriter().u32(1 << 16))
            .value()
            .empty());
}

TEST_CASE("elements without a size don't become any number of values", "[nettrace]") {
  Field nested = field(FieldType::structure);
  for (int i = 0; i < 3; ++i) nested = field(FieldType::fixed_array, {std::move(nested)}, 0xFFFF);
  CHECK(why({nested}, {}) == "a payload has too many values");
}
