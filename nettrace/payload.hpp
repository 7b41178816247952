// Decodes payloads by their definitions.
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

// What a payload's field holds.

/// A moment in units of 100 ns since 1601 (UTC).
struct FileTime {
  std::int64_t units = 0;
  bool operator==(const FileTime&) const = default;
};

/// .NET's System.Decimal, as it lies in memory.
struct Decimal {
  std::array<std::byte, 16> bytes{};
  bool operator==(const Decimal&) const = default;
};

struct Value;
struct Member;

using Array = std::vector<Value>;
using Structure = std::vector<Member>;
using Blob = std::vector<std::byte>;  ///< An array of bytes.

/// Characters and arrays of characters are texts, in UTF-8.
struct Value {
  std::variant<bool, std::int64_t, std::uint64_t, double, std::string, Guid, FileTime, Decimal, Blob, Array,
               Structure>
      is;

  bool operator==(const Value& other) const;
};

struct Member {
  std::string_view name;  ///< A view of the definition's.
  Value value;

  bool operator==(const Member&) const = default;
};

inline bool Value::operator==(const Value& other) const {
  return is == other.is;
}

/// The values of a definition's fields, in their order: of an event's `payload`, which is at `offset` in the
/// stream. Ends before a field of an unknown type. Bytes behind the last field are left alone: newer versions
/// of an event append fields. Fails where a field goes beyond the payload, and beyond kMostPayloadValues. The
/// names are views of the definition's.
[[nodiscard]] Result<Structure> decode_payload(const Definition& definition, BytesView payload,
                                               std::uint64_t offset);

}  // namespace farport::nettrace
