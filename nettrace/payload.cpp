#include "nettrace/payload.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/text.hpp"
#include "nettrace/cursor.hpp"

namespace farport::nettrace {
namespace {

std::string utf8_of(BytesView bytes) {
  return to_utf8(to_utf16({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}

/// Bytes of one element of an array that becomes a single value, text or bytes; 0 for other arrays.
std::size_t unit_bytes(FieldType element) {
  if (element == FieldType::utf16_unit) return 2;
  return element == FieldType::utf8_unit || element == FieldType::uint8 ? 1 : 0;
}

/// A value; empty if its type is unknown or reading failed.
using Found = std::optional<Value>;

class PayloadReader {
 public:
  PayloadReader(BytesView payload, std::uint64_t offset) : whole_(payload, offset) {}

  Result<Structure> read(const std::vector<Field>& fields) {
    Cursor in = whole_;
    Structure members;
    read_members(in, fields, members);
    if (in.failed()) return in.error();
    return members;
  }

 private:
  /// Returns false at a field of an unknown type.
  bool read_members(Cursor& in, const std::vector<Field>& fields, Structure& into) {
    into.reserve(fields.size());
    for (const Field& field : fields) {
      Found value = read_value(in, field);
      if (!value) return false;
      into.push_back({.name = field.name, .value = std::move(*value)});
    }
    return true;
  }

  Found read_value(Cursor& in, const Field& field) {
    if (++values_ > kMaxPayloadValues) in.reject("a payload has too many values");
    Found value = is_compound(field.type) ? read_compound(in, field) : read_plain(in, field.type);
    if (in.failed()) return std::nullopt;
    return value;
  }

  static bool is_compound(FieldType type) {
    switch (type) {
      case FieldType::structure:
      case FieldType::array:
      case FieldType::fixed_array:
      case FieldType::relative_array:
      case FieldType::absolute_array:
        return true;
      default:
        return false;
    }
  }

  Found read_compound(Cursor& in, const Field& field) {
    if (field.type == FieldType::structure) {
      Structure members;
      if (!read_members(in, field.fields, members)) return std::nullopt;
      return Value{std::move(members)};
    }
    const Field& element = field.fields.front();
    if (field.type == FieldType::array) return read_elements(in, element, in.u16());
    if (field.type == FieldType::fixed_array) return read_elements(in, element, field.count);
    return read_elsewhere(in, field.type, element);
  }

  /// RelLoc and DataLoc: the offset in the lower half, the size in bytes in the upper one.
  Found read_elsewhere(Cursor& in, FieldType type, const Field& element) {
    const std::uint32_t where = in.u32();
    Cursor from = type == FieldType::relative_array ? in : whole_;
    from.take(where & 0xFFFF);
    Cursor elements = from.part(where >> 16);
    // Arrays must not share bytes: otherwise a few bytes could produce any number of values.
    elsewhere_ += elements.remaining();
    if (elsewhere_ > whole_.remaining()) elements.reject("arrays overlap");
    Found value;
    if (const std::size_t unit = unit_bytes(element.type); unit > 0) {
      value = read_units(elements, element.type, elements.remaining() / unit);
    } else {
      value = read_all_elements(elements, element);
    }
    if (elements.failed()) in.reject("an array goes beyond its payload");
    return value;
  }

  Found read_all_elements(Cursor& in, const Field& element) {
    Array array;
    while (!in.at_end()) {
      const std::size_t before = in.remaining();
      Found value = read_value(in, element);
      if (!value) return std::nullopt;
      if (in.remaining() == before) in.reject("an array's elements have no size");
      array.push_back(std::move(*value));
    }
    return Value{std::move(array)};
  }

  Found read_elements(Cursor& in, const Field& element, std::size_t count) {
    if (unit_bytes(element.type) > 0) return read_units(in, element.type, count);
    Array array;
    for (; count > 0; --count) {
      Found value = read_value(in, element);
      if (!value) return std::nullopt;
      array.push_back(std::move(*value));
    }
    return Value{std::move(array)};
  }

  static Found read_units(Cursor& in, FieldType unit, std::size_t count) {
    const BytesView bytes = in.take(count * unit_bytes(unit));
    if (unit == FieldType::uint8) return Value{Blob(bytes.begin(), bytes.end())};
    return Value{unit == FieldType::utf16_unit ? to_utf8(bytes) : utf8_of(bytes)};
  }

  static Found read_plain(Cursor& in, FieldType type) {
    switch (type) {
      case FieldType::boolean32:
        return Value{in.u32() != 0};
      case FieldType::boolean8:
        return Value{in.u8() != 0};
      case FieldType::utf16_unit:
        return read_units(in, type, 1);
      case FieldType::utf8_unit: {
        // A single byte may be no valid UTF-8, but it must be visible all the same.
        const char16_t unit = in.u8();
        return Value{to_utf8(std::u16string_view(&unit, 1))};
      }
      case FieldType::utf16_text:
        return Value{in.utf16()};
      case FieldType::guid:
        return Value{in.guid()};
      case FieldType::file_time:
        return Value{FileTime{in.i64()}};
      case FieldType::decimal:
        return Value{Decimal{in.guid().bytes}};
      default:
        return read_number(in, type);
    }
  }

  static Found read_number(Cursor& in, FieldType type) {
    switch (type) {
      case FieldType::int8:
        return Value{std::int64_t{static_cast<std::int8_t>(in.u8())}};
      case FieldType::int16:
        return Value{std::int64_t{static_cast<std::int16_t>(in.u16())}};
      case FieldType::int32:
        return Value{std::int64_t{static_cast<std::int32_t>(in.u32())}};
      case FieldType::int64:
        return Value{in.i64()};
      case FieldType::var_int:
        return Value{in.var_i64()};
      case FieldType::uint8:
        return Value{std::uint64_t{in.u8()}};
      case FieldType::uint16:
        return Value{std::uint64_t{in.u16()}};
      case FieldType::uint32:
        return Value{std::uint64_t{in.u32()}};
      case FieldType::uint64:
        return Value{in.u64()};
      case FieldType::var_uint:
        return Value{in.var_u64()};
      case FieldType::float32:
        return Value{double{std::bit_cast<float>(in.u32())}};
      case FieldType::float64:
        return Value{std::bit_cast<double>(in.u64())};
      default:
        return std::nullopt;
    }
  }

  Cursor whole_;
  std::size_t values_ = 0;
  std::size_t elsewhere_ = 0;  ///< Bytes of arrays stored away from their fields.
};

}  // namespace

Result<Structure> decode_payload(const Definition& definition, BytesView payload, std::uint64_t offset) {
  return PayloadReader(payload, offset).read(definition.fields);
}

}  // namespace farport::nettrace
