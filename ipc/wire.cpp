#include "ipc/wire.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace farport::ipc {

BytesView Reader::take(std::size_t size) {
  if (failed()) return {};
  if (size > remaining()) {
    reject("it ends at byte " + std::to_string(bytes_.size()) + ", within a field of " +
           std::to_string(size) + " bytes at byte " + std::to_string(offset_));
    return {};
  }
  const BytesView taken = bytes_.subspan(offset_, size);
  offset_ += size;
  return taken;
}

std::uint64_t Reader::number(std::size_t size) {
  const BytesView raw = take(size);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < raw.size(); ++i) value |= std::to_integer<std::uint64_t>(raw[i]) << (8 * i);
  return value;
}

Guid Reader::guid() {
  Guid value;
  const BytesView raw = take(value.bytes.size());
  std::copy(raw.begin(), raw.end(), value.bytes.begin());
  return value;
}

std::optional<std::string> Reader::optional_string() {
  const std::uint32_t units = count(sizeof(char16_t));
  const BytesView raw = take(units * sizeof(char16_t));
  if (raw.empty()) return std::nullopt;

  std::u16string utf16;
  for (std::size_t i = 0; i < raw.size(); i += 2) {
    utf16 +=
        static_cast<char16_t>(std::to_integer<unsigned>(raw[i]) | std::to_integer<unsigned>(raw[i + 1]) << 8);
  }
  if (utf16.back() != 0) {
    reject("the string before byte " + std::to_string(offset_) + " does not end with a zero");
    return std::nullopt;
  }
  return to_utf8(std::u16string_view(utf16).substr(0, utf16.find(u'\0')));
}

std::uint32_t Reader::count(std::size_t smallest_element) {
  const std::uint32_t elements = u32();
  if (elements <= remaining() / smallest_element) return elements;
  reject("the count before byte " + std::to_string(offset_) + " is " + std::to_string(elements) +
         ", but only " + std::to_string(remaining()) + " bytes follow");
  return 0;
}

std::vector<std::uint32_t> Reader::u32_array() {
  std::vector<std::uint32_t> values(count(sizeof(std::uint32_t)));
  for (std::uint32_t& value : values) value = u32();
  return values;
}

Bytes Reader::byte_array() {
  const BytesView raw = take(count(1));
  return {raw.begin(), raw.end()};
}

void Reader::reject(std::string_view why) {
  if (!failed()) why_ = why;
}

Error Reader::error() const {
  return fail("decode", of_, *why_).value();
}

void Writer::number(std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i) & 0xFF));
}

void Writer::bytes(BytesView raw) {
  bytes_.insert(bytes_.end(), raw.begin(), raw.end());
}

void Writer::string(std::string_view utf8) {
  const std::u16string utf16 = to_utf16(utf8);
  count(utf16.size() + 1);
  for (const char16_t unit : utf16) u16(unit);
  u16(0);
}

void Writer::optional_string(const std::optional<std::string>& utf8) {
  if (utf8) {
    string(*utf8);
  } else {
    count(0);
  }
}

void Writer::u32_array(const std::vector<std::uint32_t>& values) {
  count(values.size());
  for (const std::uint32_t value : values) u32(value);
}

}  // namespace farport::ipc
