#include "nettrace/framing.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "nettrace/append.hpp"
#include "nettrace/cursor.hpp"

namespace farport::nettrace {
namespace {

constexpr std::int64_t kUnitsPerSecond = 10'000'000;
constexpr std::int64_t kUnitsPerMillisecond = 10'000;
/// The last year that fits 64 bits in units of 100 ns, and Windows' last.
constexpr int kMaxYear = 30'827;

/// Windows' SYSTEMTIME: eight 16-bit numbers.
std::int64_t read_system_time(Cursor& in) {
  using namespace std::chrono;
  std::array<std::uint16_t, 8> part{};
  for (std::uint16_t& number : part) number = in.u16();
  const auto [year_number, month_number, day_of_week, day_number, hour, minute, second, millisecond] = part;
  const year_month_day date{year{std::min<int>(year_number, kMaxYear)}, month{month_number}, day{day_number}};
  // std::chrono stores months and days in one byte, so check the numbers first.
  if (month_number > 12 || day_number > 31 || !date.ok() || hour > 23 || minute > 59 || second > 60 ||
      millisecond > 999) {
    in.reject("the time at which the trace began is no time");
    return 0;
  }
  const auto whole = sys_days{date} + hours{hour} + minutes{minute} + std::chrono::seconds{second};
  return whole.time_since_epoch().count() * kUnitsPerSecond + millisecond * kUnitsPerMillisecond;
}

void read_clock(Cursor& in, TraceHeader& into) {
  into.sync_time = read_system_time(in);
  into.sync_ticks = in.i64();
  into.ticks_per_second = in.i64();
  into.pointer_size = in.u32();
  if (into.ticks_per_second < 1 || into.ticks_per_second > kMaxTicksPerSecond) {
    in.reject("the clock's frequency can't be");
  }
  if (into.pointer_size != 4 && into.pointer_size != 8) in.reject("pointers are neither of 4 nor of 8 bytes");
}

}  // namespace

std::int64_t TraceHeader::time_of(std::int64_t ticks) const {
  const std::int64_t limit = ticks < sync_ticks ? std::numeric_limits<std::int64_t>::min()
                                                : std::numeric_limits<std::int64_t>::max();
  std::int64_t passed = 0;
  if (__builtin_sub_overflow(ticks, sync_ticks, &passed)) return limit;
  std::int64_t units = 0;
  if (__builtin_mul_overflow(passed / ticks_per_second, kUnitsPerSecond, &units)) return limit;
  units += passed % ticks_per_second * kUnitsPerSecond / ticks_per_second;
  std::int64_t time = 0;
  return __builtin_add_overflow(sync_time, units, &time) ? limit : time;
}

Result<TraceHeader> read_trace_object(Cursor in, std::uint32_t format) {
  TraceHeader header;
  header.format = format;
  read_clock(in, header);
  header.process_id = in.u32();
  header.processors = in.u32();
  in.u32();  // The sampling rate, which nobody keeps to.
  if (in.failed()) return in.error();
  return header;
}

Result<TraceHeader> read_trace_block(Cursor in) {
  TraceHeader header;
  header.format = 6;
  read_clock(in, header);
  std::size_t held = 0;
  for (std::uint32_t left = in.u32(); left > 0 && !in.failed(); --left) {
    auto& [key, value] = header.attributes.emplace_back(in.utf8(), std::string());
    value = in.utf8();
    if (key == "ProcessId") header.process_id = number_in<std::uint64_t>(value).value_or(0);
    if (key == "HardwareThreadCount") header.processors = number_in<std::uint32_t>(value).value_or(0);
    held += sizeof(header.attributes.front()) + key.size() + value.size();
    if (held > kMaxTraceTextBytes) in.reject("the trace says too much of itself");
  }
  if (in.failed()) return in.error();
  return header;
}

namespace {

constexpr std::string_view kMagic = "Nettrace";
constexpr std::string_view kSerialization = "!FastSerialization.1";
/// The magic, and the number that identifies the format.
constexpr std::size_t kStartBytes = 12;
/// Both version numbers included.
constexpr std::size_t kPreamble6Bytes = 20;
constexpr std::size_t kPreamble4Bytes = kStartBytes + kSerialization.size();

/// Tags ("Objects").
constexpr auto kNull = kStreamEnd;
constexpr auto kBeginObject = std::byte{5};
constexpr auto kEndObject = std::byte{6};

/// The part of an object's type before its name: three tags, two versions, the name's size.
constexpr std::size_t kTypeBytes = 15;
/// A block's size.
constexpr std::size_t kBlockSizeBytes = 4;
constexpr std::uint64_t kAlignment = 4;
/// The newest known versions of the Trace object and of blocks.
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

FramePeek needs(std::size_t bytes) {
  return {.frame = std::nullopt, .takes = bytes};
}

FramePeek found(const Frame& frame) {
  return {.frame = frame, .takes = frame.size};
}

/// A frame that is skipped entirely.
FramePeek found_filler(std::size_t size) {
  return found({.size = size, .content_begin = size});
}

tl::unexpected<Error> unknown_format(std::uint64_t offset, std::uint32_t version) {
  return fail_at(offset, "its format is " + std::to_string(version) + ", and 4, 5 and 6 are known");
}

/// An object's type, after its first tag.
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

/// Formats 4 and 5: the zero bytes between a block's size, which ends at this position in the stream, and its
/// content.
std::size_t padding_at(std::uint64_t offset) {
  return (kAlignment - offset % kAlignment) % kAlignment;
}

}  // namespace

void append_block(std::vector<std::byte>& to, BlockKind kind, BytesView content, std::uint64_t offset) {
  const std::string_view name = std::ranges::find(kObjects, kind, &NamedKind::kind)->name;
  append(to, std::array{kBeginObject, kBeginObject, kNull});
  append(to, kBlockVersion);
  append(to, kBlockVersion);
  append(to, static_cast<std::uint32_t>(name.size()));
  append(to, std::as_bytes(std::span(name)));
  to.push_back(kEndObject);
  append(to, static_cast<std::uint32_t>(content.size()));
  to.resize(to.size() + padding_at(offset + to.size()));
  append(to, content);
  to.push_back(kEndObject);
}

Result<FramePeek> Framing::look(BytesView begin, std::uint64_t offset) {
  if (format_ == 0) return look_at_preamble(begin, offset);
  return format_ == 6 ? look_at_block(begin, offset) : look_at_object(begin, offset);
}

Result<FramePeek> Framing::look_at_preamble(BytesView begin, std::uint64_t offset) {
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

Result<FramePeek> Framing::look_at_object(BytesView begin, std::uint64_t offset) {
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
  if (name_size > kMaxTypeNameBytes) return fail_at(offset, "the name of an object's type is too long");
  const std::size_t head = kTypeBytes + name_size + 1;
  if (begin.size() < head) return needs(head);
  const std::string_view name = text_of(in.take(name_size));
  if (in.take(1)[0] != kEndObject) return fail_at(offset, "an object's type does not end where it should");
  const auto* const object = std::ranges::find(kObjects, name, &NamedKind::name);
  if (object == kObjects.end()) return fail_at(offset, "an object is of an unknown type");
  type.kind = object->kind;
  RETURN_IF_ERROR(check_version(type, offset));

  Frame frame{.size = 0,
              .kind = type.kind,
              .head_size = head,
              .content_begin = head,
              .content_size = kTraceObjectBytes};
  if (type.kind == BlockKind::trace) {
    // A newer version that older readers may read is read in the older way.
    format_ = std::min(type.version, kTraceVersion);
  } else {
    if (begin.size() < head + kBlockSizeBytes) return needs(head + kBlockSizeBytes);
    frame.content_size = in.u32();
    if (frame.content_size > kMaxBlockBytes) return fail_at(offset, "a block is too large");
    frame.head_size += kBlockSizeBytes;
    frame.content_begin = frame.head_size + padding_at(offset + frame.head_size);
  }
  frame.size = frame.content_begin + frame.content_size;
  in_object_ = true;
  return found(frame);
}

Result<FramePeek> Framing::look_at_block(BytesView begin, std::uint64_t offset) {
  if (begin.size() < kHeader6Bytes) return needs(kHeader6Bytes);
  const std::uint32_t header = Cursor(begin, offset).u32();
  const std::uint32_t kind = header >> 24;
  Frame frame{.size = 0,
              .kind = BlockKind::unknown,
              .head_size = kHeader6Bytes,
              .content_begin = kHeader6Bytes,
              .content_size = header & kMaxBlockBytes};
  if (kind <= static_cast<std::uint32_t>(BlockKind::labels)) frame.kind = static_cast<BlockKind>(kind);
  frame.size = frame.content_begin + frame.content_size;
  return found(frame);
}

namespace {

/// Capacity that the buffer keeps between frames; more is freed.
constexpr std::size_t kKeptBytes = std::size_t{64} << 10;

}  // namespace

Result<void> FrameCutter::feed(BytesView bytes, const Take& take) {
  if (error_) return tl::unexpected(*error_);
  auto fed = feed_pieces(bytes, take);
  if (fed) return fed;
  error_ = fed.error();
  pending_ = {};
  return fed;
}

Result<void> FrameCutter::finish() const {
  if (error_) return tl::unexpected(*error_);
  if (!ended_) return fail_at(offset_ + pending_.size(), "it breaks off");
  return {};
}

Result<void> FrameCutter::feed_pieces(BytesView bytes, const Take& take) {
  while (!bytes.empty()) {
    if (!pending_.empty()) {
      const std::size_t more = std::min(takes_ - pending_.size(), bytes.size());
      pending_.insert(pending_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(more));
      bytes = bytes.subspan(more);
      if (pending_.size() < takes_) return {};
    }
    const bool in_place = pending_.empty();
    ASSIGN_OR_RETURN(const auto taken, take_frame(in_place ? bytes : BytesView(pending_), take));
    if (in_place && taken == 0) {
      pending_.assign(bytes.begin(), bytes.end());
      return {};
    }
    if (in_place) bytes = bytes.subspan(taken);
    if (!in_place && taken > 0) drop_pending();
  }
  return {};
}

Result<std::size_t> FrameCutter::take_frame(BytesView begin, const Take& take) {
  if (ended_) return fail_at(offset_, "there is more behind its end");
  if (!frame_) {
    ASSIGN_OR_RETURN(const auto glance, framing_.look(begin, offset_));
    frame_ = glance.frame;
    takes_ = glance.takes;
    if (takes_ > max_frame_) return fail_at(offset_, "a block is larger than any that a runtime writes");
  }
  if (!frame_ || begin.size() < frame_->size) return 0;
  const Frame frame = *std::exchange(frame_, std::nullopt);
  ended_ = frame.kind == BlockKind::end;
  RETURN_IF_ERROR(take(frame, begin.first(frame.size)));
  offset_ += frame.size;
  return frame.size;
}

void FrameCutter::drop_pending() {
  pending_.clear();
  if (pending_.capacity() > kKeptBytes) pending_ = {};
}

void EndWatch::take(BytesView bytes) {
  while (!bytes.empty() && breaks_off()) {
    const std::size_t wanted = skip_ > 0 ? skip_ : takes_ - head_.size();
    const BytesView piece = bytes.first(std::min(wanted, bytes.size()));
    bytes = bytes.subspan(piece.size());
    if (skip_ > 0) {
      skip_ -= piece.size();
    } else {
      head_.insert(head_.end(), piece.begin(), piece.end());
      if (head_.size() == takes_) take_head();
    }
  }
}

void EndWatch::take_head() {
  const auto glance = framing_.look(head_, offset_);
  unreadable_ = !glance;
  if (!glance) return;
  takes_ = glance->takes;
  if (!glance->frame) return;
  ended_ = glance->frame->kind == BlockKind::end;
  skip_ = glance->frame->size - head_.size();
  offset_ += glance->frame->size;
  head_.clear();
  takes_ = 1;
}

}  // namespace farport::nettrace
