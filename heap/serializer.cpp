#include "heap/serializer.hpp"

#include "base/text.hpp"

namespace farport::heap {
namespace {

constexpr std::string_view kSignature = "!FastSerialization.1";

}  // namespace

Serializer::Serializer(Sink sink) : sink_(std::move(sink)) {
  put_text(kSignature);
}

void Serializer::put_text(std::string_view text) {
  // Units of UTF-16, counted, and each in UTF-8's form by itself.
  const std::u16string units = to_utf16(text);
  put_u32(static_cast<std::uint32_t>(units.size()));
  for (const char16_t unit : units) {
    if (unit < 0x80) {
      put_u8(static_cast<std::uint8_t>(unit));
      continue;
    }
    if (unit < 0x800) {
      put_u8(static_cast<std::uint8_t>(0xC0 | unit >> 6));
    } else {
      put_u8(static_cast<std::uint8_t>(0xE0 | unit >> 12));
      put_u8(static_cast<std::uint8_t>(0x80 | (unit >> 6 & 0x3F)));
    }
    put_u8(static_cast<std::uint8_t>(0x80 | (unit & 0x3F)));
  }
}

void Serializer::begin_object(std::string_view type, std::uint32_t version, std::uint32_t least_reader) {
  put_tag(Tag::begin_object);
  put_tag(Tag::begin_object);
  put_tag(Tag::null_reference);  // The type of all types.
  put_u32(version);
  put_u32(least_reader);
  put_text(type);
  end_object();
}

void Serializer::put_skippable_null() {
  put_tag(Tag::skip_region);
  put_u32(static_cast<std::uint32_t>(region_ends_.size()));
  put_tag(Tag::null_reference);
  region_ends_.push_back(place());
}

Result<void> Serializer::finish() {
  put_tag(Tag::end_object);  // Of the objects.
  const std::uint32_t table = place();
  put_u32(static_cast<std::uint32_t>(region_ends_.size()));
  for (const std::uint32_t end : region_ends_) put_u32(end);
  const std::uint32_t trailer = place();
  put_u32(table);
  put_u32(trailer);
  flush();
  return state_;
}

void Serializer::flush() {
  handed_on_ += pending_.size();
  if (good() && handed_on_ > UINT32_MAX)
    state_ = fail("write the heap", "", "it takes more than 4 GiB in this form");
  if (good() && !pending_.empty()) state_ = sink_(pending_);
  pending_.clear();
}

}  // namespace farport::heap
