#include "nettrace/reader.hpp"

#include <algorithm>

namespace farport::nettrace {
namespace {

/// A buffer for blocks as they mostly are. A larger one is given back.
constexpr std::size_t kKeptBytes = std::size_t{1} << 20;

}  // namespace

Result<void> Reader::feed(BytesView bytes) {
  if (error_) return tl::unexpected(*error_);
  auto fed = feed_frames(bytes);
  if (!fed) error_ = fed.error();
  return fed;
}

Result<void> Reader::finish() const {
  if (error_) return tl::unexpected(*error_);
  if (!ended_) return fail_at(offset_ + pending_.size(), "it breaks off");
  return {};
}

Result<void> Reader::feed_frames(BytesView bytes) {
  while (!bytes.empty()) {
    if (!pending_.empty()) {
      const std::size_t more = std::min(takes_ - pending_.size(), bytes.size());
      pending_.insert(pending_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(more));
      bytes = bytes.subspan(more);
      if (pending_.size() < takes_) return {};
    }
    const bool in_place = pending_.empty();
    const auto taken = take_frame(in_place ? bytes : BytesView(pending_));
    if (!taken) return tl::unexpected(taken.error());
    if (in_place && *taken == 0) {
      pending_.assign(bytes.begin(), bytes.end());
      return {};
    }
    if (in_place) bytes = bytes.subspan(*taken);
    if (!in_place && *taken > 0) drop_pending();
  }
  return {};
}

Result<std::size_t> Reader::take_frame(BytesView begin) {
  if (ended_) return fail_at(offset_, "there is more behind its end");
  if (!frame_) {
    const auto glance = framing_.look(begin, offset_);
    if (!glance) return tl::unexpected(glance.error());
    frame_ = glance->frame;
    takes_ = glance->takes;
  }
  if (!frame_ || begin.size() < frame_->size) return 0;
  const Frame frame = *frame_;
  frame_.reset();
  ended_ = frame.kind == BlockKind::end;
  const std::uint64_t content_offset = offset_ + frame.content_begin;
  const Block block{
      .kind = frame.kind,
      .content = Cursor(begin.subspan(frame.content_begin, frame.content_size), content_offset)};
  if (const auto read = blocks_.read(block, framing_.format()); !read) return tl::unexpected(read.error());
  offset_ += frame.size;
  return frame.size;
}

void Reader::drop_pending() {
  pending_.clear();
  if (pending_.capacity() > kKeptBytes) pending_ = {};
}

}  // namespace farport::nettrace
