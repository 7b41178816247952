// Decoding payloads into values by their definitions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/text.hpp"
#include "nettrace/cursor.hpp"
#include "nettrace/definition.hpp"

namespace farport::nettrace {

/// A moment in units of 100 ns since 1601 (UTC).
struct FileTime {
  std::int64_t units = 0;
  bool operator==(const FileTime&) const = default;
};

/// .NET's System.Decimal in its memory layout.
struct Decimal {
  std::array<std::byte, 16> bytes{};
  bool operator==(const Decimal&) const = default;
};

struct Value;
struct Member;

using Array = std::vector<Value>;
using Structure = std::vector<Member>;
using Blob = std::vector<std::byte>;  ///< An array of bytes.

/// A field's value. Characters and arrays of characters become UTF-8 text.
struct Value {
  std::variant<bool, std::int64_t, std::uint64_t, double, std::string, Guid, FileTime, Decimal, Blob, Array,
               Structure>
      is;

  bool operator==(const Value& other) const;
};

struct Member {
  std::string_view name;  ///< A view into the definition.
  Value value;

  bool operator==(const Member&) const = default;
};

inline bool Value::operator==(const Value& other) const {
  return is == other.is;
}

/// Decodes the fields of an event's `payload`, which is at `offset` in the stream. Stops before a field of an
/// unknown type. Ignores bytes after the last field, since newer versions of an event append fields. Fails if
/// a field exceeds the payload, or beyond kMaxPayloadValues. Names are views into the definition.
[[nodiscard]] Result<Structure> decode_payload(const Definition& definition, BytesView payload,
                                               std::uint64_t offset);

}  // namespace farport::nettrace
