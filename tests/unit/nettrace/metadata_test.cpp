#include <catch2/catch.hpp>

#include "nettrace/cursor.hpp"
#include "nettrace/definition.hpp"
#include "tests/unit/nettrace/trace_writer.hpp"

using namespace farport::nettrace;
using farport::test::definition_4;
using farport::test::definition_6;
using farport::test::FieldWriter;

namespace {

/// "a:9 b:1(c:18)": names and types, those within in brackets.
std::string text_of(const std::vector<Field>& fields) {
  std::string text;
  for (const Field& field : fields) {
    text += (text.empty() ? "" : " ") + field.name + ":" + std::to_string(static_cast<int>(field.type));
    if (field.count > 0) text += "*" + std::to_string(field.count);
    if (!field.fields.empty()) text += "(" + text_of(field.fields) + ")";
  }
  return text;
}

farport::Result<Definition> read_4(const FieldWriter& row) {
  return read_definition_4(Cursor(row.take(), 0));
}

farport::Result<Definition> read_6(const FieldWriter& row) {
  return read_definition_6(Cursor(row.take(), 0));
}

template <typename Read>
void check_truncated(const FieldWriter& row, std::size_t may_end_at, const Read& read) {
  for (std::size_t size = 0; size < row.size(); ++size) {
    INFO("of " << row.size() << " bytes only " << size);
    const std::vector<std::byte> part(row.take().begin(),
                                      row.take().begin() + static_cast<std::ptrdiff_t>(size));
    CHECK(read(Cursor(part, 0)).has_value() == (size == may_end_at));
  }
}

/// A field's description in the second layout of formats 4 and 5.
FieldWriter described(const FieldWriter& inner) {
  return FieldWriter().u32(inner.size() + 4).bytes(inner.take());
}

FieldWriter tag(int kind, const FieldWriter& content) {
  return FieldWriter().u32(content.size()).u8(kind).bytes(content.take());
}

FieldWriter described_6(std::string_view name, const FieldWriter& type) {
  return FieldWriter().sized16(FieldWriter().utf8(name).bytes(type.take()));
}

/// A row of format 6 with this field alone, and nothing optional.
FieldWriter row_of_6(const FieldWriter& field) {
  return definition_6(1, "P", 1, "E").u16(1).bytes(field.take()).u16(0);
}

}  // namespace

TEST_CASE("a definition of format 4 has names, numbers and fields", "[nettrace]") {
  const auto row = definition_4(7, "Orders", 1, "Priced")
                       .u32(3)
                       .u32(11)
                       .utf16("sequence")
                       .u32(1)
                       .u32(2)
                       .u32(18)
                       .utf16("name")
                       .u32(14)
                       .utf16("mean")
                       .utf16("inner")
                       .u32(3)
                       .utf16("flag");
  const Definition definition = read_4(row).value();
  CHECK(definition.id == 7);
  CHECK(definition.provider == "Orders");
  CHECK(definition.event_id == 1);
  CHECK(definition.name == "Priced");
  CHECK(definition.keywords == 0xF0F0);
  CHECK(definition.version == 2);
  CHECK(definition.level == 4);
  CHECK(definition.opcode == 0);
  CHECK(text_of(definition.fields) == "sequence:11 inner:1(name:18 mean:14) flag:3");
  CHECK(held_bytes(definition) > sizeof(Definition) + 5 * sizeof(Field));
  check_truncated(row, definition_4(7, "Orders", 1, "Priced").size(), read_definition_4);
}

TEST_CASE("a definition may end before its fields", "[nettrace]") {
  CHECK(read_4(definition_4(7, "Runtime", 1, "")).value().fields.empty());
}

TEST_CASE("tags of format 5 bring the opcode, and fields with arrays", "[nettrace]") {
  FieldWriter fields = FieldWriter().u32(3);
  fields.bytes(described(FieldWriter().utf16("a").u32(19).u32(9)).take());
  fields.bytes(described(FieldWriter().utf16("b").u32(1).u32(1).bytes(
                             described(FieldWriter().utf16("c").u32(19).u32(19).u32(6)).take()))
                   .take());
  // Something that a later version may have added.
  fields.bytes(described(FieldWriter().utf16("d").u32(17).u32(0)).take());
  const auto row = definition_4(1, "P", 1, "E")
                       .u32(0)
                       .bytes(tag(1, FieldWriter().u8(9)).take())
                       .bytes(tag(77, FieldWriter().u32(1)).take())
                       .bytes(tag(2, fields).take());
  const Definition definition = read_4(row).value();
  CHECK(definition.opcode == 9);
  CHECK(text_of(definition.fields) == "a:19(:9) b:1(c:19(:19(:6))) d:17");
}

TEST_CASE("fields end at a type that is not known", "[nettrace]") {
  // The first layout has no arrays, and no sizes: nothing behind them can be found.
  CHECK(text_of(read_4(definition_4(1, "P", 1, "E").u32(3).u32(9).utf16("a").u32(19).u32(9).utf16("b"))
                    .value()
                    .fields) == "a:9 :0");
  CHECK(text_of(read_4(definition_4(1, "P", 1, "E").u32(1).u32(1).u32(1).u32(2).u8(1)).value().fields) ==
        ":1(:0)");
  const auto fields = FieldWriter()
                          .u32(2)
                          .bytes(described(FieldWriter().utf16("a").u32(99)).take())
                          .bytes(described(FieldWriter().utf16("b").u32(9)).take());
  const auto row = definition_4(1, "P", 1, "E")
                       .u32(0)
                       .bytes(tag(2, fields).take())
                       .bytes(tag(1, FieldWriter().u8(9)).take());
  const Definition definition = read_4(row).value();
  CHECK(text_of(definition.fields) == "a:0");
  CHECK(definition.opcode == 9);
}

TEST_CASE("sizes of a definition that lie are refused", "[nettrace]") {
  const auto begun = [] { return definition_4(1, "P", 1, "E"); };
  CHECK_FALSE(read_4(begun().u32(0xFFFFFFFF).u32(9).utf16("a")).has_value());
  CHECK_FALSE(read_4(begun().u32(0).u32(0xFFFFFFFF).u8(1).u8(1)).has_value());
  CHECK_FALSE(read_4(begun().u32(0).bytes(tag(1, {}).take())).has_value());
  CHECK(read_4(begun().u32(0).bytes(tag(2, FieldWriter().u32(1).u32(3)).take())).error().why ==
        "a field's description is smaller than its size");
  CHECK(read_4(begun().u32(0).bytes(tag(2, FieldWriter().u32(1).u32(8).utf16("a")).take())).error().why ==
        "a field's description does not fit its size");
}

TEST_CASE("fields are neither many nor deep without an end", "[nettrace]") {
  auto deep = definition_4(1, "P", 1, "E");
  for (int i = 0; i < kMaxFieldDepth + 2; ++i) deep.u32(1).u32(1);
  CHECK(read_4(deep).error().why == "the fields of an event are nested too deeply");

  auto many = definition_4(1, "P", 1, "E").u32(kMaxFields + 1);
  for (std::size_t i = 0; i < kMaxFields + 1; ++i) many.u32(9).utf16("");
  CHECK(read_4(many).error().why == "an event has too many fields");

  FieldWriter arrays;
  for (int i = 0; i < kMaxFieldDepth + 1; ++i) arrays.u8(19);
  CHECK(read_6(row_of_6(described_6("a", arrays.u8(9)))).error().why ==
        "a field's description does not fit its size");
  FieldWriter many6 = definition_6(1, "P", 1, "E").u16(kMaxFields + 1);
  for (std::size_t i = 0; i < kMaxFields + 1; ++i) many6.bytes(described_6("", FieldWriter().u8(9)).take());
  CHECK(read_6(many6.u16(0)).error().why == "an event has too many fields");
}

TEST_CASE("a definition of format 6 has all that it may say", "[nettrace]") {
  FieldWriter optional;
  optional.u8(1)
      .u8(9)
      .u8(3)
      .u64(0xF0)
      .u8(4)
      .utf8("{0} costs {1}")
      .u8(5)
      .utf8("a price")
      .u8(6)
      .utf8("k")
      .utf8("v");
  optional.u8(7).guid(5).u8(8).u8(4).u8(9).u8(2);
  FieldWriter inner = FieldWriter().u8(1).u16(1).bytes(described_6("c", FieldWriter().u8(26)).take());
  const auto row = definition_6(300, "Orders", 1, "Priced")
                       .u16(5)
                       .bytes(described_6("a", FieldWriter().u8(20).u32(0xADDED)).take())
                       .bytes(described_6("b", inner).take())
                       .bytes(described_6("d", FieldWriter().u8(22).u8(23).u16(5)).take())
                       .bytes(described_6("e", FieldWriter().u8(24).u8(9)).take())
                       .bytes(described_6("f", FieldWriter().u8(25).u8(4)).take())
                       .sized16(optional);
  const auto longer = FieldWriter().bytes(row.take()).u32(0xADDED);
  for (const FieldWriter& bytes : {row, longer}) {
    const Definition definition = read_6(bytes).value();
    CHECK(definition.id == 300);
    CHECK(definition.provider == "Orders");
    CHECK(definition.event_id == 1);
    CHECK(definition.name == "Priced");
    CHECK(text_of(definition.fields) == "a:20 b:1(c:26) d:22*5(:23) e:24(:9) f:25(:4)");
    CHECK(definition.opcode == 9);
    CHECK(definition.keywords == 0xF0);
    CHECK(definition.message == "{0} costs {1}");
    CHECK(definition.description == "a price");
    CHECK(definition.attributes == std::vector<std::pair<std::string, std::string>>{{"k", "v"}});
    CHECK(definition.provider_id.bytes[0] == std::byte{5});
    CHECK(definition.level == 4);
    CHECK(definition.version == 2);
    CHECK(held_bytes(definition) > sizeof(Definition) + 8 * sizeof(Field));
  }
  check_truncated(row, row.size(), read_definition_6);
}

TEST_CASE("what format 6 says in a way that is not known is left out", "[nettrace]") {
  const auto row = definition_6(1, "P", 1, "E")
                       .u16(3)
                       .bytes(described_6("a", FieldWriter().u8(9)).take())
                       .bytes(described_6("b", FieldWriter().u8(99)).take())
                       .bytes(described_6("c", FieldWriter().u8(9)).take())
                       .sized16(FieldWriter().u8(1).u8(9).u8(99).u8(1).u8(1).u8(8));
  const Definition definition = read_6(row).value();
  CHECK(text_of(definition.fields) == "a:9 b:0");
  CHECK(definition.opcode == 9);
  CHECK_FALSE(read_6(definition_6(1, "P", 1, "E").u16(0).sized16(FieldWriter().u8(3).u32(1))).has_value());
}
