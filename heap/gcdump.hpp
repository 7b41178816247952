// Writing a heap as a .gcdump file for dotnet-gcdump, PerfView and Visual Studio.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "heap/heap.hpp"

namespace farport::heap {

/// Takes the next piece of a file. Not called again after an error.
using Sink = std::function<Result<void>(std::span<const std::byte> piece)>;

/// Tags of FastSerialization before values that readers may skip.
enum class Tag : std::uint8_t {
  null_reference = 1,
  begin_object = 4,
  end_object = 6,
  byte = 8,
  skip_region = 12,
  text = 13,
};

/// Writes the format of FastSerialization, the library of PerfView that .gcdump files are made with.
///
/// A file is a signature, an object with nested objects, a table of offsets that were not known when they
/// were referred to, and the offset of that table. An object is its type, its fields and an end; a type is
/// itself an object (FastSerialization.cs in PerfView's repository).
class Serializer {
 public:
  /// Writes the signature.
  explicit Serializer(Sink sink);

  void put_u8(std::uint8_t value) { put_number(value); }
  void put_u32(std::uint32_t value) { put_number(value); }
  void put_u64(std::uint64_t value) { put_number(value); }
  void put_tag(Tag tag) { put_u8(static_cast<std::uint8_t>(tag)); }
  /// Takes UTF-8; invalid parts become U+FFFD.
  void put_text(std::string_view text);
  /// Writes the null that takes the place of a string.
  void put_no_text() { put_u32(UINT32_MAX); }

  /// Starts an object of this .NET type, for readers of version `least_reader` and above.
  void begin_object(std::string_view type, std::uint32_t version, std::uint32_t least_reader);
  void end_object() { put_tag(Tag::end_object); }
  /// Writes a null in a region that older readers may skip, as for fields of later versions.
  void put_skippable_null();

  /// Writes what follows the objects and passes on the rest. Fails with the sink's first error.
  [[nodiscard]] Result<void> finish();
  /// False after an error; further output is dropped then.
  [[nodiscard]] bool good() const { return state_.has_value(); }

 private:
  template <typename Number>
  void put_number(Number value) {
    for (std::size_t at = 0; at < sizeof(Number); ++at)
      pending_.push_back(static_cast<std::byte>(value >> (8 * at) & 0xFF));
    if (pending_.size() >= kPieceBytes) flush();
  }
  void flush();
  [[nodiscard]] std::uint32_t place() const {
    return static_cast<std::uint32_t>(handed_on_ + pending_.size());
  }

  static constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

  Sink sink_;
  std::vector<std::byte> pending_;
  std::uint64_t handed_on_ = 0;
  std::vector<std::uint32_t> region_ends_;
  Result<void> state_;
};

/// The origin of a heap, for people.
struct Origin {
  std::string host;
  std::string process;
};

/// Writes the heap, which must have a graph. Leaves out references to addresses that are no objects. Fails
/// with the sink's error, or if the heap is too large for the format.
[[nodiscard]] Result<void> write_gcdump(Heap heap, const Origin& origin, Sink sink);

}  // namespace farport::heap
