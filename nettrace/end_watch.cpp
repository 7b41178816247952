#include "nettrace/end_watch.hpp"

#include <algorithm>

namespace farport::nettrace {

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
