// What the stream says of its kinds of events: who writes them, and what is in their payloads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "nettrace/cursor.hpp"

namespace farport::nettrace {

/// How a field is written ("MetadataBlock", TypeCode). The numbers are the stream's.
enum class FieldType : std::uint8_t {
  unknown = 0,  ///< No one of those below, so that nothing behind it can be found.
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
  decimal = 15,    ///< 16 bytes. In no document, but runtimes write it.
  file_time = 16,  ///< 8 bytes, as runtimes write a DateTime. The documents say 16, of another form.
  guid = 17,
  utf16_text = 18,  ///< Up to a zero unit.
  array = 19,       ///< Behind its count, 16 bits.
  // Format 6 only:
  var_int = 20,
  var_uint = 21,
  fixed_array = 22,  ///< Of as many elements as the definition says.
  utf8_unit =
      23,  ///< Of a character. dotnet-trace collect-linux says this of texts behind their size, 16 bits.
  relative_array = 24,  ///< Elsewhere in the payload, its place counted from behind the field.
  absolute_array = 25,  ///< Elsewhere in the payload, its place counted from the payload's beginning.
  boolean8 = 26,
};

struct Field {
  std::string name;  ///< Empty for the element of an array.
  FieldType type = FieldType::unknown;
  std::uint16_t count = 0;    ///< Of a fixed_array's elements.
  std::vector<Field> fields;  ///< Those of a structure; of an array its element alone.
};

struct Definition {
  std::uint32_t id = 0;  ///< By which events refer to it.
  std::string provider;
  std::uint32_t event_id = 0;
  std::string name;  ///< Empty for the events of the runtime's own providers, which are known by their ids.
  std::uint64_t keywords = 0;
  std::uint32_t version = 0;
  std::uint8_t level = 0;   ///< 1 is critical, 5 verbose.
  std::uint8_t opcode = 0;  ///< 1 begins an activity, 2 ends it.
  /// In the order of the payload. None also where the provider did not say, as the runtime's own don't.
  std::vector<Field> fields;
  // Format 6 only:
  Guid provider_id;
  std::string message;  ///< With a place for each field.
  std::string description;
  std::vector<std::pair<std::string, std::string>> attributes;
};

/// What holding it takes, about.
[[nodiscard]] std::size_t held_bytes(const Definition& definition);

// How many fields one definition may have, and how deeply nested.

class FieldLimit {
 public:
  /// Whether there may be one more, so deep. Makes `in` fail otherwise.
  [[nodiscard]] bool admits(Cursor& in, int depth) {
    if (depth > kMostFieldDepth) in.reject("the fields of an event are nested too deeply");
    if (++fields_ > kMostFields) in.reject("an event has too many fields");
    return !in.failed();
  }

 private:
  std::size_t fields_ = 0;
};

// Definitions of events, as a metadata block has them.

/// Reads the payload of one row (formats 4 and 5, "Metadata event encoding"). Fields that are described in a
/// way that is not known end with one of FieldType::unknown. Fails where sizes and counts don't fit, and
/// beyond the limits.
[[nodiscard]] Result<Definition> read_definition_4(Cursor row);

/// Reads one row without its size (format 6, "MetadataBlock"), with the same rules.
[[nodiscard]] Result<Definition> read_definition_6(Cursor row);

}  // namespace farport::nettrace
