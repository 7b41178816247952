// Reads the fields of a block, one after the other, and never past its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"

namespace farport::nettrace {

// What a stream may make its reader hold, whatever it says of itself. A trace that needs more is refused.

/// The most that format 6 can say; runtimes write blocks of about 100 KiB.
inline constexpr std::size_t kMostBlockBytes = (std::size_t{1} << 24) - 1;
/// Of the name of an object's type (formats 4 and 5). The longest that there is has 13.
inline constexpr std::size_t kMostTypeNameBytes = 64;
/// Of all definitions that are known at a time, as they are held.
inline constexpr std::size_t kMostDefinitionBytes = std::size_t{16} << 20;
/// Of one definition, those within structures included.
inline constexpr std::size_t kMostFields = 4096;
/// How deep structures and arrays of a definition may be nested.
inline constexpr int kMostFieldDepth = 16;
/// Of all stacks between two sequence points, as they are held. Runtimes write a sequence point for each 10
/// MiB of events.
inline constexpr std::size_t kMostStackBytes = std::size_t{32} << 20;
/// Of one stack. Runtimes write a hundred, kernels some hundred.
inline constexpr std::size_t kMostFrames = 4096;
/// That are known at a time.
inline constexpr std::size_t kMostThreads = 65'536;
/// Of all names of threads that are known at a time.
inline constexpr std::size_t kMostThreadNameBytes = std::size_t{4} << 20;
/// Of all label lists between two sequence points, as they are held.
inline constexpr std::size_t kMostLabelBytes = std::size_t{8} << 20;
/// Of one list.
inline constexpr std::size_t kMostLabels = 1024;
/// Of the texts in the trace's own header (format 6).
inline constexpr std::size_t kMostTraceTextBytes = std::size_t{1} << 20;
/// Values that one payload may be decoded to, those within arrays and structures included.
inline constexpr std::size_t kMostPayloadValues = 131'072;
/// Timestamps are converted without loss up to this. Linux counts nanoseconds, Windows mostly tenths of
/// microseconds.
inline constexpr std::int64_t kMostTicksPerSecond = 100'000'000'000;

using BytesView = std::span<const std::byte>;

/// An error of the stream at a place in it, counted in bytes from its beginning.
[[nodiscard]] tl::unexpected<Error> fail_at(std::uint64_t offset, std::string_view why);

/// A view of bytes and a place in them. The first field that can't be read makes the cursor fail: it is at
/// its end then, and all that is read from it is zero or empty, so that a function may read all its fields
/// and ask once. All numbers are little-endian ("Primitives and endianness").
class Cursor {
 public:
  /// `offset`: where the first of `bytes` is in the stream, for errors.
  Cursor(BytesView bytes, std::uint64_t offset)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), end_offset_(offset + bytes.size()) {}

  std::uint8_t u8() { return number<std::uint8_t>(); }
  std::uint16_t u16() { return number<std::uint16_t>(); }
  std::uint32_t u32() { return number<std::uint32_t>(); }
  std::uint64_t u64() { return number<std::uint64_t>(); }
  std::int64_t i64() { return static_cast<std::int64_t>(u64()); }
  /// Seven bits in each byte, the lowest first; fails where the number has more than 32 bits.
  std::uint32_t var_u32() { return static_cast<std::uint32_t>(variable(UINT32_MAX)); }
  /// The same of 64 bits.
  std::uint64_t var_u64() { return variable(UINT64_MAX); }
  /// The same, signed: the lowest bit is the sign.
  std::int64_t var_i64();
  Guid guid();

  /// The next `size` bytes as they are.
  BytesView take(std::size_t size);
  /// The same as a cursor of its own, which fails by itself.
  Cursor part(std::size_t size);
  /// All that is left.
  BytesView take_rest() { return take(remaining()); }

  /// UTF-16 up to a zero unit, as UTF-8, and past it.
  std::string utf16();
  /// UTF-8 behind its count in bytes (a varuint32). What is no UTF-8 becomes U+FFFD.
  std::string utf8();

  /// Fails for a reason of the caller's, which is kept as it is: a literal.
  void reject(const char* why);

  [[nodiscard]] bool failed() const { return why_ != nullptr; }
  [[nodiscard]] bool at_end() const { return at_ == end_; }
  [[nodiscard]] std::size_t remaining() const { return static_cast<std::size_t>(end_ - at_); }
  /// Where the next byte is in the stream.
  [[nodiscard]] std::uint64_t offset() const { return end_offset_ - remaining(); }
  /// Where and why it has failed.
  [[nodiscard]] tl::unexpected<Error> error() const { return fail_at(failed_at_, why_); }

  /// Success, or the error where reading has failed.
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
    // Every platform that this is built for is little-endian.
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
