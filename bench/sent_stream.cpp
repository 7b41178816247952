#include "sent_stream.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "stream_block.hpp"

namespace farport::bench {

SentStream::SentStream(const std::string& file) : block_(fake::stream_block(file)) {}

void SentStream::check(std::span<const std::byte> got, std::uint64_t place) const {
  while (!got.empty()) {
    const std::span<const std::byte> sent = std::span(block_).subspan(place % block_.size());
    const std::size_t size = std::min(got.size(), sent.size());
    if (std::memcmp(got.data(), sent.data(), size) != 0) {
      throw std::runtime_error("a stream is not what was sent, from byte " + std::to_string(place));
    }
    got = got.subspan(size);
    place += size;
  }
}

}  // namespace farport::bench
