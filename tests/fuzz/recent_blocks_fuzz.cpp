// Fuzzes what the recorder keeps of a runtime. The first byte of an input says in what pieces the rest comes,
// the second how much memory there is. Whatever it is, the memory is enough, the pieces make no difference,
// and a file can be made of what is kept.
#include <algorithm>
#include <vector>

#include "router/agent/recorder/recent_blocks.hpp"
#include "tests/fuzz/target.hpp"

using farport::fuzz::require;
using farport::nettrace::BytesView;
using farport::router::RecentBlocks;

namespace {

constexpr std::size_t kLimitStep = 4096;
constexpr RecentBlocks::Clock::time_point kNow{};

/// The file of what is kept.
std::vector<std::byte> keep(BytesView bytes, std::size_t piece, std::size_t limit) {
  RecentBlocks blocks(limit);
  while (!bytes.empty()) {
    const BytesView part = bytes.first(std::min(piece, bytes.size()));
    const auto taken = blocks.take(part, kNow);
    require(taken || !taken.error().why.empty(), "every error has a cause");
    if (!taken) break;
    bytes = bytes.subspan(part.size());
  }
  auto file = blocks.file(kNow);
  std::vector<std::byte> all;
  while (file) {
    const std::vector<std::byte> next = file->next();
    if (next.empty()) break;
    all.insert(all.end(), next.begin(), next.end());
  }
  return all;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const BytesView bytes = std::as_bytes(std::span(data, size)).subspan(2);
  // So much that nothing has to go: when something goes depends on the pieces.
  const std::size_t plenty = size * 8 + kLimitStep * 256;
  const auto whole = keep(bytes, std::max<std::size_t>(bytes.size(), 1), plenty);
  require(keep(bytes, 1 + std::size_t{data[0]}, plenty) == whole, "pieces make no difference");
  require(whole.size() <= plenty, "a file is no larger than what came");
  keep(bytes, 1 + std::size_t{data[0]}, std::size_t{data[1]} * kLimitStep / 16);
  return 0;
}
