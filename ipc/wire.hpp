// Reader, Writer: the IPC protocol's data types in bytes, which are little-endian numbers, GUIDs, counted
// strings and arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"

namespace farport::ipc {

using Bytes = std::vector<std::byte>;
using BytesView = std::span<const std::byte>;

/// Reads fields one after the other and never past the end. After the first field that can't be read,
/// everything is zero or empty, so a decoder may read all its fields and check once, with result(). Unread
/// bytes are no error: the runtime ignores them too, and newer runtimes append fields. Refers to the bytes
/// and the name.
class Reader {
 public:
  /// `of` names what is being read in errors.
  Reader(BytesView bytes, std::string_view of) : bytes_(bytes), of_(of) {}

  std::uint8_t u8() { return static_cast<std::uint8_t>(number(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  /// One byte; any value but 0 is true, as in the runtime.
  bool boolean() { return u8() != 0; }
  Guid guid();

  /// A string as UTF-8; empty optional if its count is 0. As in the runtime the last UTF-16 unit must be
  /// zero, and the first zero unit ends the string. Invalid surrogates become U+FFFD.
  std::optional<std::string> optional_string();
  /// The same, with an empty string for an absent one.
  std::string string() { return optional_string().value_or(std::string()); }

  /// An array's count. Fails if that many elements of at least `smallest_element` bytes (not 0) can't fit
  /// into the remaining bytes, so that a false count never causes a large allocation.
  std::uint32_t count(std::size_t smallest_element);
  /// An array of u32.
  std::vector<std::uint32_t> u32_array();
  /// A u32 count and that many bytes.
  Bytes byte_array();

  /// Fails for the caller's reason, unless the reader has failed already.
  void reject(std::string_view why);

  [[nodiscard]] bool failed() const { return why_.has_value(); }
  [[nodiscard]] std::size_t remaining() const { return bytes_.size() - offset_; }

  /// Like result(), but remaining bytes are an error: for commands that the gate must have understood
  /// completely.
  template <typename T>
  [[nodiscard]] Result<T> whole_result(T value) {
    if (remaining() > 0) reject(std::to_string(remaining()) + " bytes more than it has");
    return result(std::move(value));
  }

  /// The value, or the error of the first failed read.
  template <typename T>
  [[nodiscard]] Result<T> result(T value) const {
    if (failed()) return tl::unexpected<Error>(error());
    return value;
  }

 private:
  /// The next `size` bytes; if there are fewer, fails and returns none.
  BytesView take(std::size_t size);
  std::uint64_t number(std::size_t size);
  [[nodiscard]] Error error() const;

  BytesView bytes_;
  std::string_view of_;
  std::size_t offset_ = 0;
  std::optional<std::string> why_;
};

/// Appends fields to bytes that it owns. Never fails; encoding the message detects one that is too long.
class Writer {
 public:
  void u8(std::uint8_t value) { number(value, 1); }
  void u16(std::uint16_t value) { number(value, 2); }
  void u32(std::uint32_t value) { number(value, 4); }
  void u64(std::uint64_t value) { number(value, 8); }
  void boolean(bool value) { u8(value ? 1 : 0); }
  void guid(const Guid& value) { bytes(value.bytes); }

  /// A string from UTF-8, with its count and terminating zero; an empty string has count 1. Invalid UTF-8
  /// becomes U+FFFD.
  void string(std::string_view utf8);
  /// The same, with count 0 for an absent string.
  void optional_string(const std::optional<std::string>& utf8);

  /// An array's count; the caller then writes the elements.
  void count(std::size_t elements) { u32(static_cast<std::uint32_t>(elements)); }
  /// An array of u32.
  void u32_array(const std::vector<std::uint32_t>& values);
  /// Bytes as they are, without a count.
  void bytes(BytesView raw);

  /// Moves the written bytes out.
  [[nodiscard]] Bytes take() { return std::move(bytes_); }

 private:
  void number(std::uint64_t value, std::size_t size);

  Bytes bytes_;
};

}  // namespace farport::ipc
