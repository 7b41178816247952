// Writing Protocol Buffers (https://protobuf.dev/programming-guides/encoding/), and compressing them by gzip.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <zlib.h>

#include "profile/output.hpp"

namespace farport::profile {

/// Builds a message field by field. Zero and empty values are proto3's defaults and are left out.
class Message {
 public:
  /// For uint64, int64 and bool.
  Message& number(std::uint32_t field, std::uint64_t value) {
    if (value != 0) add(field, value);
    return *this;
  }
  /// For string, in UTF-8.
  Message& text(std::uint32_t field, std::string_view value) {
    if (!value.empty()) element(field, value);
    return *this;
  }
  /// One element of a repeated field of messages or strings; it may be empty.
  Message& element(std::uint32_t field, std::string_view bytes);
  Message& element(std::uint32_t field, const Message& message) { return element(field, message.bytes_); }
  /// A repeated field of numbers, packed.
  template <typename Numbers>
  Message& packed(std::uint32_t field, const Numbers& numbers) {
    std::string bytes;
    for (const auto value : numbers) add_varint(bytes, static_cast<std::uint64_t>(value));
    return text(field, bytes);
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void add(std::uint32_t field, std::uint64_t value);
  static void add_varint(std::string& to, std::uint64_t value);

  std::string bytes_;
};

/// Compresses a stream by gzip (RFC 1952) and passes the result to `out`, which must outlive it.
class Gzip {
 public:
  explicit Gzip(Output& out);

  void put(std::string_view bytes) { deflate_all(bytes, Z_NO_FLUSH); }
  /// Ends the file. Nothing may follow.
  void finish() { deflate_all({}, Z_FINISH); }

 private:
  struct End {
    void operator()(z_stream* stream) const;
  };

  void deflate_all(std::string_view bytes, int flush);

  Output& out_;
  std::unique_ptr<z_stream, End> stream_;
};

}  // namespace farport::profile
