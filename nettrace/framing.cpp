#include "nettrace/framing.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "nettrace/limits.hpp"
#include "nettrace/trace_header.hpp"

namespace farport::nettrace {
namespace {

constexpr std::string_view kMagic = "Nettrace";
constexpr std::string_view kSerialization = "!FastSerialization.1";
/// The magic, and the number that tells the formats apart.
constexpr std::size_t kStartBytes = 12;
/// Both numbers of the version follow.
constexpr std::size_t kPreamble6Bytes = 20;
constexpr std::size_t kPreamble4Bytes = kStartBytes + kSerialization.size();

/// Tags ("Objects").
constexpr auto kNull = std::byte{1};
constexpr auto kBeginObject = std::byte{5};
constexpr auto kEndObject = std::byte{6};

/// An object's type up to its name: three tags, two versions, the name's size.
constexpr std::size_t kTypeBytes = 15;
/// A block's size.
constexpr std::size_t kBlockSizeBytes = 4;
constexpr std::uint64_t kAlignment = 4;
/// The newest that is known, of the Trace object and of blocks.
constexpr std::uint32_t kTraceVersion = 5;
constexpr std::uint32_t kBlockVersion = 2;

constexpr std::size_t kHeader6Bytes = 4;

struct NamedKind {
  std::string_view name;
  BlockKind kind;
};
constexpr std::array kObjects{
    NamedKind{"Trace", BlockKind::trace}, NamedKind{"EventBlock", BlockKind::events},
    NamedKind{"MetadataBlock", BlockKind::metadata}, NamedKind{"StackBlock", BlockKind::stacks},
    NamedKind{"SPBlock", BlockKind::sequence_point}};

std::string_view text_of(BytesView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Glance needs(std::size_t bytes) {
  return {.frame = std::nullopt, .takes = bytes};
}

Glance found(const Frame& frame) {
  return {.frame = frame, .takes = frame.size};
}

/// What is only there to be skipped.
Glance found_filler(std::size_t size) {
  return found({.size = size, .content_begin = size});
}

tl::unexpected<Error> unknown_format(std::uint64_t offset, std::uint32_t version) {
  return fail_at(offset, "its format is " + std::to_string(version) + ", and 4, 5 and 6 are known");
}

/// An object's type, behind its first tag.
struct ObjectType {
  std::uint32_t version = 0;
  std::uint32_t least_reader = 0;
  BlockKind kind = BlockKind::unknown;
};

Result<void> check_version(const ObjectType& type, std::uint64_t offset) {
  if (type.kind == BlockKind::trace) {
    if (type.version < 4 || type.least_reader > kTraceVersion) return unknown_format(offset, type.version);
  } else if (type.least_reader > kBlockVersion) {
    return fail_at(offset, "a block is for readers of its version " + std::to_string(type.least_reader) +
                               ", and " + std::to_string(kBlockVersion) + " is known");
  }
  return {};
}

}  // namespace

Result<Glance> Framing::look(BytesView begin, std::uint64_t offset) {
  if (format_ == 0) return look_at_preamble(begin, offset);
  return format_ == 6 ? look_at_block(begin, offset) : look_at_object(begin, offset);
}

Result<Glance> Framing::look_at_preamble(BytesView begin, std::uint64_t offset) {
  if (begin.size() < kMagic.size()) return needs(kMagic.size());
  if (text_of(begin.first(kMagic.size())) != kMagic)
    return fail_at(offset, "it does not begin with Nettrace");
  if (begin.size() < kStartBytes) return needs(kStartBytes);
  Cursor in(begin.subspan(kMagic.size()), offset + kMagic.size());
  const std::uint32_t serialization_size = in.u32();
  if (serialization_size == 0) {
    if (begin.size() < kPreamble6Bytes) return needs(kPreamble6Bytes);
    const std::uint32_t major = in.u32();
    if (major != 6) return unknown_format(offset, major);
    format_ = 6;
    return found_filler(kPreamble6Bytes);
  }
  if (serialization_size != kSerialization.size())
    return fail_at(offset, "it begins as no known format does");
  if (begin.size() < kPreamble4Bytes) return needs(kPreamble4Bytes);
  if (text_of(in.take(kSerialization.size())) != kSerialization) {
    return fail_at(offset, "it begins as no known format does");
  }
  format_ = 4;
  return found_filler(kPreamble4Bytes);
}

Result<Glance> Framing::look_at_object(BytesView begin, std::uint64_t offset) {
  if (begin.empty()) return needs(1);
  if (in_object_) {
    if (begin.front() != kEndObject) return fail_at(offset, "an object does not end where it should");
    in_object_ = false;
    return found_filler(1);
  }
  if (begin.front() == kNull) return found({.size = 1, .kind = BlockKind::end, .content_begin = 1});
  if (begin.size() < kTypeBytes) return needs(kTypeBytes);
  Cursor in(begin, offset);
  if (in.take(1)[0] != kBeginObject || in.take(1)[0] != kBeginObject || in.take(1)[0] != kNull) {
    return fail_at(offset, "there is no object where one should begin");
  }
  ObjectType type{.version = in.u32(), .least_reader = in.u32()};
  const std::uint32_t name_size = in.u32();
  if (name_size > kMostTypeNameBytes) return fail_at(offset, "the name of an object's type is too long");
  const std::size_t head = kTypeBytes + name_size + 1;
  if (begin.size() < head) return needs(head);
  const std::string_view name = text_of(in.take(name_size));
  if (in.take(1)[0] != kEndObject) return fail_at(offset, "an object's type does not end where it should");
  const auto* const object = std::ranges::find(kObjects, name, &NamedKind::name);
  if (object == kObjects.end()) return fail_at(offset, "an object is of an unknown type");
  type.kind = object->kind;
  if (const auto checked = check_version(type, offset); !checked) return tl::unexpected(checked.error());

  Frame frame{.size = 0, .kind = type.kind, .content_begin = head, .content_size = kTraceObjectBytes};
  if (type.kind == BlockKind::trace) {
    // A newer one that older readers may read is read as they do.
    format_ = std::min(type.version, kTraceVersion);
  } else {
    if (begin.size() < head + kBlockSizeBytes) return needs(head + kBlockSizeBytes);
    frame.content_size = in.u32();
    if (frame.content_size > kMostBlockBytes) return fail_at(offset, "a block is too large");
    const std::uint64_t unaligned = (offset + head + kBlockSizeBytes) % kAlignment;
    frame.content_begin = head + kBlockSizeBytes + (unaligned == 0 ? 0 : kAlignment - unaligned);
  }
  frame.size = frame.content_begin + frame.content_size;
  in_object_ = true;
  return found(frame);
}

Result<Glance> Framing::look_at_block(BytesView begin, std::uint64_t offset) {
  if (begin.size() < kHeader6Bytes) return needs(kHeader6Bytes);
  const std::uint32_t header = Cursor(begin, offset).u32();
  const std::uint32_t kind = header >> 24;
  Frame frame{.size = 0,
              .kind = BlockKind::unknown,
              .content_begin = kHeader6Bytes,
              .content_size = header & kMostBlockBytes};
  if (kind <= static_cast<std::uint32_t>(BlockKind::labels)) frame.kind = static_cast<BlockKind>(kind);
  frame.size = frame.content_begin + frame.content_size;
  return found(frame);
}

}  // namespace farport::nettrace
