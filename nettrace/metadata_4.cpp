#include "nettrace/definition.hpp"

namespace farport::nettrace {
namespace {

/// Tags after the fields (format 5). Others are skipped.
constexpr std::uint8_t kOpcodeTag = 1;
constexpr std::uint8_t kFieldsTag = 2;

/// The size field of a field, which counts itself.
constexpr std::uint32_t kFieldSizeBytes = 4;

/// The two layouts of field descriptions; the older one has no arrays.
enum class Layout : std::uint8_t { v1, v2 };

FieldType field_type_4(std::uint32_t code, Layout layout) {
  if (code == 2 || code > 19) return FieldType::unknown;
  if (code == 19 && layout == Layout::v1) return FieldType::unknown;
  return static_cast<FieldType>(code);
}

class FieldReader4 {
 public:
  explicit FieldReader4(Layout layout) : layout_(layout) {}

  /// Returns false if the last field that it read has an unknown type.
  bool read_fields(Cursor& in, std::vector<Field>& into, int depth) {
    bool known = true;
    for (std::uint32_t left = in.u32(); left > 0 && known && limit_.admits(in, depth); --left) {
      known = read_field(in, into.emplace_back(), depth);
      if (in.failed()) return false;
    }
    return known;
  }

 private:
  bool read_field(Cursor& in, Field& into, int depth) {
    if (layout_ == Layout::v1) {
      const bool known = read_type(in, into, depth);
      if (known) into.name = in.utf16();
      return known;
    }
    const std::uint32_t size = in.u32();
    if (size < kFieldSizeBytes) {
      in.reject("a field's description is smaller than its size");
      return false;
    }
    Cursor inner = in.part(size - kFieldSizeBytes);
    into.name = inner.utf16();
    const bool known = read_type(inner, into, depth);
    if (inner.failed()) in.reject("a field's description does not fit its size");
    return known;
  }

  bool read_type(Cursor& in, Field& into, int depth) {
    into.type = field_type_4(in.u32(), layout_);
    if (into.type == FieldType::structure) return read_fields(in, into.fields, depth + 1);
    if (into.type == FieldType::array) {
      return limit_.admits(in, depth + 1) && read_type(in, into.fields.emplace_back(), depth + 1);
    }
    return into.type != FieldType::unknown;
  }

  Layout layout_;
  FieldLimit limit_;
};

Result<void> read_tags(Cursor& row, Definition& into) {
  while (!row.at_end()) {
    const std::uint32_t size = row.u32();
    const std::uint8_t tag = row.u8();
    Cursor in = row.part(size);
    if (tag == kOpcodeTag) {
      into.opcode = in.u8();
    } else if (tag == kFieldsTag) {
      into.fields.clear();
      FieldReader4(Layout::v2).read_fields(in, into.fields, 0);
    }
    if (in.failed()) return in.error();
  }
  return row.outcome();
}

}  // namespace

Result<Definition> read_definition_4(Cursor row) {
  Definition definition;
  definition.id = row.u32();
  definition.provider = row.utf16();
  definition.event_id = row.u32();
  definition.name = row.utf16();
  definition.keywords = row.u64();
  definition.version = row.u32();
  definition.level = static_cast<std::uint8_t>(row.u32());
  if (row.failed()) return row.error();
  if (row.at_end()) return definition;
  const bool known = FieldReader4(Layout::v1).read_fields(row, definition.fields, 0);
  if (row.failed()) return row.error();
  // After an unknown type, the start of the tags can't be located.
  if (!known) return definition;
  if (const auto read = read_tags(row, definition); !read) return tl::unexpected(read.error());
  return definition;
}

}  // namespace farport::nettrace
