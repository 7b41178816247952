#include "transport/retransmit_buffer.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace farport::transport {
namespace {

/// From this size on a buffer is kept as it is: at most half of it is room that nobody needs.
constexpr std::size_t kWorthKeeping = BufferPool::kSpace / 2;

}  // namespace

void RetransmitBuffer::keep(WriteOperation& operation) {
  const Chunk& chunk = operation.chunk;
  if (chunk.size == 0) return;
  if (operation.holder != nullptr && chunk.size >= kWorthKeeping) {
    pieces_.push_back(Piece{end_, chunk, std::move(*operation.holder), nullptr});
  } else {
    auto copy = std::make_unique_for_overwrite<std::byte[]>(kHeadroom + chunk.size);
    std::memcpy(copy.get() + kHeadroom, chunk.data, chunk.size);
    const Chunk bytes{copy.get() + kHeadroom, chunk.size, true};
    pieces_.push_back(Piece{end_, bytes, {}, std::move(copy)});
  }
  if (sent_ == end_) next_ = std::prev(pieces_.end());
  end_ += chunk.size;
}

Chunk RetransmitBuffer::unsent() const {
  if (next_ == pieces_.end()) return {};
  Chunk rest = next_->bytes;
  rest.advance(sent_ - next_->place);
  return rest;
}

void RetransmitBuffer::advance(std::size_t bytes) {
  sent_ += bytes;
  if (next_ != pieces_.end() && next_->end() <= sent_) ++next_;
}

void RetransmitBuffer::acknowledge(std::uint64_t place) {
  begin_ = std::clamp(place, begin_, sent_);
  while (!pieces_.empty() && pieces_.front().end() <= begin_) pieces_.pop_front();
}

void RetransmitBuffer::rewind(std::uint64_t place) {
  sent_ = place;
  next_ = std::find_if(pieces_.begin(), pieces_.end(),
                       [place](const Piece& piece) { return piece.end() > place; });
}

void RetransmitBuffer::clear() {
  pieces_.clear();
  next_ = pieces_.end();
  begin_ = sent_ = end_;
}

}  // namespace farport::transport
