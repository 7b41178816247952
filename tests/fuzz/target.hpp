// What the fuzz targets share: their entry point, and how they tell that a promise is broken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

/// Runs the target on one input; called by libFuzzer or by replay.cpp. Always returns 0: what is wrong ends
/// the process. May keep nothing of `data`.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace farport::fuzz {

/// Aborts unless `kept`, and says which promise that was.
inline void require(bool kept, std::string_view promise) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %.*s\n", static_cast<int>(promise.size()), promise.data());
  std::abort();
}

/// Decodes `bytes`; what can be decoded must survive being encoded and decoded again. The first encoding may
/// differ from `bytes`, which may have tails and several forms of one string; a second may not differ from
/// the first.
template <typename Bytes, typename Decode, typename Encode>
void check_round_trip(const Bytes& bytes, const Decode& decode, const Encode& encode) {
  const auto first = decode(bytes);
  if (!first) {
    require(!first.error().why.empty(), "every error has a cause");
    return;
  }
  const auto encoded = encode(*first);
  const auto second = decode(encoded);
  require(second.has_value(), "what was encoded can be decoded");
  require(encode(*second) == encoded, "what was encoded is decoded to the same");
}

}  // namespace farport::fuzz
