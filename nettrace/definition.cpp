#include "nettrace/definition.hpp"

namespace farport::nettrace {
namespace {

std::size_t held_bytes_of_fields(const std::vector<Field>& fields) {
  std::size_t bytes = fields.capacity() * sizeof(Field);
  for (const Field& field : fields) bytes += field.name.size() + held_bytes_of_fields(field.fields);
  return bytes;
}

}  // namespace

std::size_t held_bytes(const Definition& definition) {
  std::size_t bytes = sizeof(Definition) + definition.provider.size() + definition.name.size() +
                      definition.message.size() + definition.description.size() +
                      held_bytes_of_fields(definition.fields);
  for (const auto& [key, value] : definition.attributes) {
    bytes += sizeof(definition.attributes.front()) + key.size() + value.size();
  }
  return bytes;
}

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
  RETURN_IF_ERROR(read_tags(row, definition));
  return definition;
}

namespace {

/// OptionalMetadataKind. Whatever follows an unknown kind can't be located and is ignored.
enum class Optional : std::uint8_t {
  opcode = 1,
  keywords = 3,
  message = 4,
  description = 5,
  key_value = 6,
  provider_id = 7,
  level = 8,
  version = 9,
};

FieldType field_type_6(std::uint8_t code) {
  return code == 2 || code > 26 ? FieldType::unknown : static_cast<FieldType>(code);
}

bool has_element(FieldType type) {
  return type == FieldType::array || type == FieldType::fixed_array || type == FieldType::relative_array ||
         type == FieldType::absolute_array;
}

class FieldReader6 {
 public:
  /// Returns false if the last field that it read has an unknown type.
  bool read_fields(Cursor& in, std::vector<Field>& into, int depth) {
    bool known = true;
    for (std::uint16_t left = in.u16(); left > 0 && limit_.admits(in, depth); --left) {
      Cursor description = in.part(in.u16());
      // Fields after an unknown one have sizes, so they can be skipped.
      if (known) known = read_field(description, into.emplace_back(), depth);
      if (description.failed()) in.reject("a field's description does not fit its size");
    }
    return known && !in.failed();
  }

 private:
  bool read_field(Cursor& in, Field& into, int depth) {
    into.name = in.utf8();
    return read_type(in, into, depth);
  }

  bool read_type(Cursor& in, Field& into, int depth) {
    into.type = field_type_6(in.u8());
    if (into.type == FieldType::structure) return read_fields(in, into.fields, depth + 1);
    if (!has_element(into.type)) return into.type != FieldType::unknown;
    if (!limit_.admits(in, depth + 1) || !read_type(in, into.fields.emplace_back(), depth + 1)) return false;
    if (into.type == FieldType::fixed_array) into.count = in.u16();
    return true;
  }

  FieldLimit limit_;
};

/// Returns false if the kind is unknown.
bool read_optional(Cursor& in, Definition& into) {
  switch (static_cast<Optional>(in.u8())) {
    case Optional::opcode:
      into.opcode = in.u8();
      return true;
    case Optional::keywords:
      into.keywords = in.u64();
      return true;
    case Optional::message:
      into.message = in.utf8();
      return true;
    case Optional::description:
      into.description = in.utf8();
      return true;
    case Optional::key_value: {
      auto& [key, value] = into.attributes.emplace_back();
      key = in.utf8();
      value = in.utf8();
      return true;
    }
    case Optional::provider_id:
      into.provider_id = in.guid();
      return true;
    case Optional::level:
      into.level = in.u8();
      return true;
    case Optional::version:
      into.version = in.u8();
      return true;
  }
  return false;
}

}  // namespace

Result<Definition> read_definition_6(Cursor row) {
  Definition definition;
  definition.id = row.var_u32();
  definition.provider = row.utf8();
  definition.event_id = row.var_u32();
  definition.name = row.utf8();
  FieldReader6().read_fields(row, definition.fields, 0);
  Cursor optional = row.part(row.u16());
  while (!optional.at_end() && read_optional(optional, definition)) {
  }
  if (row.failed()) return row.error();
  if (optional.failed()) return optional.error();
  return definition;
}

}  // namespace farport::nettrace
