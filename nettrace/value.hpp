// What a payload's field holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/guid.hpp"

namespace farport::nettrace {

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

}  // namespace farport::nettrace
