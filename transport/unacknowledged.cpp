#include "transport/unacknowledged.hpp"

#include <algorithm>
#include <cstring>

namespace farport::transport {
namespace {

/// From this size on a buffer is kept as it is: at most half of it is room that nobody needs.
constexpr std::size_t kWorthKeeping = BufferPool::kSpace / 2;

}  // namespace

void Unacknowledged::keep(WriteOperation& operation) {
  const Chunk& chunk = operation.chunk;
  if (chunk.size == 0) return;
  Piece& piece = pieces_.emplace_back(Piece{end_, chunk, {}, nullptr});
  end_ += chunk.size;
  if (operation.holder != nullptr && chunk.size >= kWorthKeeping) {
    std::destroy_at(&piece.buffer);
    std::construct_at(&piece.buffer, std::move(*operation.holder));
    return;
  }
  piece.copy = std::make_unique_for_overwrite<std::byte[]>(kHeadroom + chunk.size);
  std::memcpy(piece.copy.get() + kHeadroom, chunk.data, chunk.size);
  piece.bytes = Chunk{piece.copy.get() + kHeadroom, chunk.size, true};
}

void Unacknowledged::acknowledge(std::uint64_t place) {
  begin_ = std::clamp(place, begin_, end_);
  while (!pieces_.empty() && pieces_.front().place + pieces_.front().bytes.size <= begin_) {
    pieces_.pop_front();
  }
}

Chunk Unacknowledged::from(std::uint64_t place) const {
  for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
    if (piece->place > place) continue;
    Chunk rest = piece->bytes;
    rest.advance(std::min<std::uint64_t>(place - piece->place, rest.size));
    return rest;
  }
  return {};
}

}  // namespace farport::transport
