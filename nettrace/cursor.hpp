// Cursor: reads the fields of a block and never past its end; and the limits of what a stream may use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"

namespace farport::nettrace {

// Limits of what a stream can make its reader hold. A trace that exceeds one is refused.

/// The most that format 6 can express; runtimes write blocks of about 100 KiB.
inline constexpr std::size_t kMaxBlockBytes = (std::size_t{1} << 24) - 1;
/// Of an object type's name (formats 4 and 5). The longest existing one has 13.
inline constexpr std::size_t kMaxTypeNameBytes = 64;
/// Memory of all definitions known at a time.
inline constexpr std::size_t kMaxDefinitionBytes = std::size_t{16} << 20;
/// Of one definition, including fields within structures.
inline constexpr std::size_t kMaxFields = 4096;
/// Nesting depth of structures and arrays in a definition.
inline constexpr int kMaxFieldDepth = 16;
/// Memory of all stacks between two sequence points. Runtimes write a sequence point for every 10 MiB of
/// events.
inline constexpr std::size_t kMaxStackBytes = std::size_t{32} << 20;
/// Of one stack. Runtimes write up to a hundred, kernels several hundred.
inline constexpr std::size_t kMaxFrames = 4096;
/// Known at a time.
inline constexpr std::size_t kMaxThreads = 65'536;
/// Of all thread names known at a time.
inline constexpr std::size_t kMaxThreadNameBytes = std::size_t{4} << 20;
/// Memory of all label lists between two sequence points.
inline constexpr std::size_t kMaxLabelBytes = std::size_t{8} << 20;
/// Of one label list.
inline constexpr std::size_t kMaxLabels = 1024;
/// Of the strings in the trace's own header (format 6).
inline constexpr std::size_t kMaxTraceTextBytes = std::size_t{1} << 20;
/// Values in one decoded payload, including those within arrays and structures.
inline constexpr std::size_t kMaxPayloadValues = 131'072;
/// The highest clock rate at which timestamps are converted without overflow. Linux counts nanoseconds,
/// Windows usually tenths of microseconds.
inline constexpr std::int64_t kMaxTicksPerSecond = 100'000'000'000;

using BytesView = std::span<const std::byte>;

/// An error at an offset in the stream, in bytes.
[[nodiscard]] tl::unexpected<Error> fail_at(std::uint64_t offset, std::string_view why);

/// A read position in a block of bytes. After the first field that can't be read the cursor is at its end,
/// and everything read is zero or empty, so a function may read all its fields and check once. All numbers
/// are little-endian ("Primitives and endianness").
class Cursor {
 public:
  /// `offset`: position of the first byte in the stream, for errors.
  Cursor(BytesView bytes, std::uint64_t offset)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), end_offset_(offset + bytes.size()) {}

  std::uint8_t u8() { return number<std::uint8_t>(); }
  std::uint16_t u16() { return number<std::uint16_t>(); }
  std::uint32_t u32() { return number<std::uint32_t>(); }
  std::uint64_t u64() { return number<std::uint64_t>(); }
  std::int64_t i64() { return static_cast<std::int64_t>(u64()); }
  /// Seven bits per byte, lowest first; fails if the number exceeds 32 bits.
  std::uint32_t var_u32() { return static_cast<std::uint32_t>(variable(UINT32_MAX)); }
  /// The same for 64 bits.
  std::uint64_t var_u64() { return variable(UINT64_MAX); }
  /// The same, signed: the lowest bit is the sign.
  std::int64_t var_i64();
  Guid guid();

  /// The next `size` bytes as they are.
  BytesView take(std::size_t size);
  /// The same as a cursor of its own, with its own failure state.
  Cursor part(std::size_t size);
  /// All remaining bytes.
  BytesView take_rest() { return take(remaining()); }

  /// Zero-terminated UTF-16, as UTF-8.
  std::string utf16();
  /// UTF-8 after its byte count (a varuint32). Invalid UTF-8 becomes U+FFFD.
  std::string utf8();

  /// Fails for the caller's reason. `why` must be a literal, since only the pointer is kept.
  void reject(const char* why);

  [[nodiscard]] bool failed() const { return why_ != nullptr; }
  [[nodiscard]] bool at_end() const { return at_ == end_; }
  [[nodiscard]] std::size_t remaining() const { return static_cast<std::size_t>(end_ - at_); }
  /// Position of the next byte in the stream.
  [[nodiscard]] std::uint64_t offset() const { return end_offset_ - remaining(); }
  /// Where and why reading failed.
  [[nodiscard]] tl::unexpected<Error> error() const { return fail_at(failed_at_, why_); }

  /// Success, or the error of the first failed read.
  [[nodiscard]] Result<void> outcome() const {
    if (failed()) return error();
    return {};
  }

 private:
  template <typename Number>
  Number number() {
    if (remaining() < sizeof(Number)) [[unlikely]] {
      reject_end();
      return 0;
    }
    Number value = 0;
    // All supported platforms are little-endian.
    std::memcpy(&value, at_, sizeof(Number));
    at_ += sizeof(Number);
    return value;
  }
  std::uint64_t variable(std::uint64_t most) {
    if (at_ != end_ && std::to_integer<unsigned>(*at_) < 0x80) [[likely]] {
      return std::to_integer<std::uint64_t>(*at_++);
    }
    return long_variable(most);
  }
  std::uint64_t long_variable(std::uint64_t most);
  void reject_end();

  const std::byte* at_;
  const std::byte* end_;
  std::uint64_t end_offset_;
  std::uint64_t failed_at_ = 0;
  const char* why_ = nullptr;
};

}  // namespace farport::nettrace
