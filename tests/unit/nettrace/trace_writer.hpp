// Writes streams for tests: right ones, and those that are wrong in one place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nettrace/framing.hpp"

namespace farport::test {

using Bytes = std::vector<std::byte>;

/// Appends fields to bytes that it owns.
class FieldWriter {
 public:
  FieldWriter& u8(std::uint64_t value) { return number(value, 1); }
  FieldWriter& u16(std::uint64_t value) { return number(value, 2); }
  FieldWriter& u32(std::uint64_t value) { return number(value, 4); }
  FieldWriter& u64(std::uint64_t value) { return number(value, 8); }
  FieldWriter& var(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) u8((value & 0x7F) | 0x80);
    return u8(value);
  }
  /// 16 bytes of this value.
  FieldWriter& guid(std::uint8_t value) {
    for (int i = 0; i < 16; ++i) u8(value);
    return *this;
  }
  /// Latin letters, with a zero behind them.
  FieldWriter& utf16(std::string_view text) {
    Bytes wide(2 * (text.size() + 1));
    std::byte* at = wide.data();
    for (const char* letter = text.data(); letter != text.data() + text.size(); at += 2, ++letter)
      *at = static_cast<std::byte>(*letter);
    return bytes(wide);
  }
  /// Behind its size.
  FieldWriter& utf8(std::string_view text) { return var(text.size()).text(text); }
  FieldWriter& text(std::string_view text) {
    const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), begin, begin + text.size());
    return *this;
  }
  FieldWriter& bytes(const Bytes& more) {
    bytes_.insert(bytes_.end(), more.begin(), more.end());
    return *this;
  }
  /// The other's bytes behind their count.
  FieldWriter& sized16(const FieldWriter& inner) { return u16(inner.bytes_.size()).bytes(inner.bytes_); }
  FieldWriter& sized32(const FieldWriter& inner) { return u32(inner.bytes_.size()).bytes(inner.bytes_); }

  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] const Bytes& take() const { return bytes_; }

 private:
  /// The machine is little-endian, as the format is.
  FieldWriter& number(std::uint64_t value, int size) {
    const auto* const begin = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), begin, begin + size);
    return *this;
  }

  Bytes bytes_;
};

inline constexpr std::uint64_t kSyncTicks = 1'000;
inline constexpr std::uint64_t kTicksPerSecond = 1'000'000'000;

/// 2026-11-22 03:04:05.678, a Sunday.
inline FieldWriter trace_clock(std::uint64_t ticks_per_second = kTicksPerSecond,
                               std::uint32_t pointer_size = 8) {
  FieldWriter out;
  for (const int part : {2026, 11, 0, 22, 3, 4, 5, 678}) out.u16(part);
  return out.u64(kSyncTicks).u64(ticks_per_second).u32(pointer_size);
}

/// The Trace object of process 4711 on 3 processors.
inline FieldWriter trace_object() {
  return trace_clock().u32(4711).u32(3).u32(1'000'000);
}

/// A row of metadata of formats 4 and 5 before its fields.
inline FieldWriter definition_4(std::uint32_t id, std::string_view provider, std::uint32_t event_id,
                                std::string_view name) {
  return FieldWriter().u32(id).utf16(provider).u32(event_id).utf16(name).u64(0xF0F0).u32(2).u32(4);
}

/// One of format 6 before its fields.
inline FieldWriter definition_6(std::uint32_t id, std::string_view provider, std::uint32_t event_id,
                                std::string_view name) {
  return FieldWriter().var(id).utf8(provider).var(event_id).utf8(name);
}

/// The header of a block of events.
inline FieldWriter event_block(bool compressed = true) {
  return FieldWriter().u16(20).u16(compressed ? 1 : 0).u64(0).u64(0);
}

/// A stream of format 4, 5 or 6, from its first byte on.
class TraceWriter {
 public:
  explicit TraceWriter(std::uint32_t format) : format_(format) {
    out_.text("Nettrace");
    if (format == 6) {
      out_.u32(0).u32(6).u32(0);
    } else {
      out_.u32(20).text("!FastSerialization.1");
    }
  }

  /// One that says what it is of, as trace_object() does.
  static TraceWriter begun(std::uint32_t format) {
    TraceWriter writer(format);
    FieldWriter header = trace_clock();
    if (format == 6) {
      header.u32(3)
          .utf8("ProcessId")
          .utf8("4711")
          .utf8("HardwareThreadCount")
          .utf8("3")
          .utf8("host")
          .utf8("shop");
      writer.block(nettrace::BlockKind::trace, header);
    } else {
      writer.object("Trace", trace_object(), format);
    }
    return writer;
  }

  TraceWriter& block(nettrace::BlockKind kind, const FieldWriter& content) {
    if (format_ == 6) {
      out_.u32(static_cast<std::uint32_t>(kind) << 24 | content.size()).bytes(content.take());
      return *this;
    }
    using nettrace::BlockKind;
    const std::string_view name = kind == BlockKind::events     ? "EventBlock"
                                  : kind == BlockKind::metadata ? "MetadataBlock"
                                  : kind == BlockKind::stacks   ? "StackBlock"
                                                                : "SPBlock";
    begin_object(name, 2);
    out_.u32(content.size());
    while (out_.size() % 4 != 0) out_.u8(0);
    out_.bytes(content.take()).u8(6);
    return *this;
  }

  /// An object that is no block.
  TraceWriter& object(std::string_view name, const FieldWriter& content, std::uint32_t version,
                      std::uint32_t least_reader = 4) {
    begin_object(name, version, least_reader);
    out_.bytes(content.take()).u8(6);
    return *this;
  }

  TraceWriter& raw(const FieldWriter& bytes) {
    out_.bytes(bytes.take());
    return *this;
  }

  TraceWriter& end() {
    if (format_ == 6) return block(nettrace::BlockKind::end, {});
    out_.u8(1);
    return *this;
  }

  [[nodiscard]] const Bytes& bytes() const { return out_.take(); }

 private:
  void begin_object(std::string_view name, std::uint32_t version, std::uint32_t least_reader = 2) {
    out_.u8(5).u8(5).u8(1).u32(version).u32(least_reader).u32(name.size()).text(name).u8(6);
  }

  std::uint32_t format_;
  FieldWriter out_;
};

}  // namespace farport::test
