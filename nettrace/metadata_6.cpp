#include "nettrace/definition.hpp"

namespace farport::nettrace {
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
