// A heap as a .gcdump file, which dotnet-gcdump, PerfView and Visual Studio open.
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

// Writes what FastSerialization reads: the library of PerfView's that .gcdump files are made with.
//
// A file is a signature, one object with others in it, a table of places that were not known yet when they
// were referred to, and the place of that table. An object is its type, its fields and an end; a type is an
// object itself (FastSerialization.cs in the repository of PerfView).

/// Takes the next bytes of a file. After an error it is given none.
using Sink = std::function<Result<void>(std::span<const std::byte> piece)>;

/// What stands before values that readers may skip.
enum class Tag : std::uint8_t {
  null_reference = 1,
  begin_object = 4,
  end_object = 6,
  byte = 8,
  skip_region = 12,
  text = 13,
};

class Serializer {
 public:
  /// Begins with the signature.
  explicit Serializer(Sink sink);

  void put_u8(std::uint8_t value) { put_number(value); }
  void put_u32(std::uint32_t value) { put_number(value); }
  void put_u64(std::uint64_t value) { put_number(value); }
  void put_tag(Tag tag) { put_u8(static_cast<std::uint8_t>(tag)); }
  /// UTF-8. What is none becomes U+FFFD.
  void put_text(std::string_view text);
  /// In place of a text.
  void put_no_text() { put_u32(UINT32_MAX); }

  /// Begins an object of this .NET type, which readers of `least_reader` and above understand.
  void begin_object(std::string_view type, std::uint32_t version, std::uint32_t least_reader);
  void end_object() { put_tag(Tag::end_object); }
  /// A null in a region that readers may skip, as fields are that came with later versions.
  void put_skippable_null();

  /// Writes what stands behind the objects, hands on the rest, and says whether all of it could be.
  [[nodiscard]] Result<void> finish();
  /// False after an error: whatever is put is lost then.
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

/// Where a heap is from, for people.
struct Origin {
  std::string host;
  std::string process;
};

/// Writes the heap, which must have a graph. References to what is no object of the heap are left out.
/// Errors: the sink's, and a heap that is too large for such a file.
[[nodiscard]] Result<void> write_gcdump(Heap heap, const Origin& origin, Sink sink);

}  // namespace farport::heap
