#include "nettrace/cursor.hpp"

#include <bit>

#include "base/text.hpp"

namespace farport::nettrace {

static_assert(std::endian::native == std::endian::little, "the stream's numbers are read as they are");

tl::unexpected<Error> fail_at(std::uint64_t offset, std::string_view why) {
  return fail("read", "the trace at byte " + std::to_string(offset), why);
}

std::int64_t Cursor::var_i64() {
  const std::uint64_t value = var_u64();
  return static_cast<std::int64_t>(value >> 1 ^ (0 - (value & 1)));
}

Guid Cursor::guid() {
  Guid value;
  const BytesView raw = take(value.bytes.size());
  if (!raw.empty()) std::memcpy(value.bytes.data(), raw.data(), raw.size());
  return value;
}

BytesView Cursor::take(std::size_t size) {
  if (size > remaining()) {
    reject_end();
    return {};
  }
  const BytesView taken(at_, size);
  at_ += size;
  return taken;
}

Cursor Cursor::part(std::size_t size) {
  const std::uint64_t begin = offset();
  Cursor inner(take(size), begin);
  if (failed()) inner.reject(why_);
  return inner;
}

std::string Cursor::utf16() {
  const BytesView rest(at_, remaining());
  for (std::size_t end = 0; end + 1 < rest.size(); end += 2) {
    if (rest[end] != std::byte{0} || rest[end + 1] != std::byte{0}) continue;
    at_ += end + 2;
    return to_utf8(rest.first(end));
  }
  reject("a text is not ended");
  return {};
}

std::string Cursor::utf8() {
  const BytesView raw = take(var_u32());
  return to_utf8(to_utf16({reinterpret_cast<const char*>(raw.data()), raw.size()}));
}

void Cursor::reject(const char* why) {
  if (failed()) return;
  failed_at_ = offset();
  why_ = why;
  at_ = end_;
}

std::uint64_t Cursor::long_variable(std::uint64_t most) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; at_ != end_; shift += 7) {
    const auto byte = std::to_integer<std::uint64_t>(*at_);
    const std::uint64_t bits = byte & 0x7F;
    if (shift > 63 || bits > most >> shift) {
      reject("a number is too large");
      return 0;
    }
    value |= bits << shift;
    ++at_;
    if (byte < 0x80) return value;
  }
  reject_end();
  return 0;
}

void Cursor::reject_end() {
  reject("a field goes beyond the end of what holds it");
}

}  // namespace farport::nettrace
