#include "profile/protobuf.hpp"

namespace farport::profile {
namespace {

constexpr std::uint32_t kVarint = 0;
constexpr std::uint32_t kLengthDelimited = 2;

constexpr std::uint32_t tag_of(std::uint32_t field, std::uint32_t wire_type) {
  return field << 3 | wire_type;
}

}  // namespace

Message& Message::element(std::uint32_t field, std::string_view bytes) {
  add_varint(bytes_, tag_of(field, kLengthDelimited));
  add_varint(bytes_, bytes.size());
  bytes_ += bytes;
  return *this;
}

void Message::add(std::uint32_t field, std::uint64_t value) {
  add_varint(bytes_, tag_of(field, kVarint));
  add_varint(bytes_, value);
}

void Message::add_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

}  // namespace farport::profile
