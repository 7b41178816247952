// Definition: a kind of event as the stream defines it, with the fields of its payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "nettrace/cursor.hpp"

namespace farport::nettrace {

/// How a field is encoded ("MetadataBlock", TypeCode). The values are the stream's.
enum class FieldType : std::uint8_t {
  unknown = 0,  ///< Any other type; nothing after such a field can be located.
  structure = 1,
  boolean32 = 3,
  utf16_unit = 4,
  int8 = 5,
  uint8 = 6,
  int16 = 7,
  uint16 = 8,
  int32 = 9,
  uint32 = 10,
  int64 = 11,
  uint64 = 12,
  float32 = 13,
  float64 = 14,
  decimal = 15,    ///< 16 bytes. Undocumented, but runtimes write it.
  file_time = 16,  ///< 8 bytes, as runtimes write a DateTime. The documents specify 16 bytes in another form.
  guid = 17,
  utf16_text = 18,  ///< Zero-terminated.
  array = 19,       ///< After its 16-bit count.
  // Format 6 only:
  var_int = 20,
  var_uint = 21,
  fixed_array = 22,  ///< Its element count is in the definition.
  utf8_unit = 23,  ///< One UTF-8 character. dotnet-trace collect-linux uses it for text after a 16-bit size.
  relative_array = 24,  ///< Elsewhere in the payload; the offset counts from the end of the field.
  absolute_array = 25,  ///< Elsewhere in the payload; the offset counts from the payload's start.
  boolean8 = 26,
};

struct Field {
  std::string name;  ///< Empty for an array's element.
  FieldType type = FieldType::unknown;
  std::uint16_t count = 0;    ///< Number of elements of a fixed_array.
  std::vector<Field> fields;  ///< Members of a structure; for an array, its element only.
};

struct Definition {
  std::uint32_t id = 0;  ///< The id by which events refer to it.
  std::string provider;
  std::uint32_t event_id = 0;
  std::string name;  ///< Empty for the runtime's own providers, whose events have ids only.
  std::uint64_t keywords = 0;
  std::uint32_t version = 0;
  std::uint8_t level = 0;   ///< 1 is critical, 5 verbose.
  std::uint8_t opcode = 0;  ///< 1 starts an activity, 2 ends it.
  /// In the order of the payload. Also empty if the provider did not describe them, as the runtime's own
  /// don't.
  std::vector<Field> fields;
  // Format 6 only:
  Guid provider_id;
  std::string message;  ///< With a placeholder for each field.
  std::string description;
  std::vector<std::pair<std::string, std::string>> attributes;
};

/// Its approximate memory use in bytes.
[[nodiscard]] std::size_t held_bytes(const Definition& definition);

/// Limits the number of a definition's fields and their nesting.

class FieldLimit {
 public:
  /// Counts one more field at this depth. Makes `in` fail if there are too many or it is too deep.
  [[nodiscard]] bool admits(Cursor& in, int depth) {
    if (depth > kMaxFieldDepth) in.reject("the fields of an event are nested too deeply");
    if (++fields_ > kMaxFields) in.reject("an event has too many fields");
    return !in.failed();
  }

 private:
  std::size_t fields_ = 0;
};

/// Reads the definition in one row's payload (formats 4 and 5, "Metadata event encoding"). If a field's
/// description is unknown, the fields end with one of FieldType::unknown. Fails if sizes and counts don't fit
/// or exceed the limits.
[[nodiscard]] Result<Definition> read_definition_4(Cursor row);

/// Reads one row without its size prefix (format 6, "MetadataBlock"), with the same rules.
[[nodiscard]] Result<Definition> read_definition_6(Cursor row);

}  // namespace farport::nettrace
