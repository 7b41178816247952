// The records that a stream of samples consists of (docs/wire.md, "Profiles"), for those who write and read
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace farport::router::sample_record {

/// What a stream begins with: the format and its version.
inline constexpr std::string_view kMagic = "FPS1";

enum Kind : std::uint8_t {
  kStart = 1,
  kThread,
  kCall,
  kSample,
  kLost,
  kMapping,
  kSymbol,
  kNote,
  kEnd,
};

/// Of a record's payload.
inline constexpr std::size_t kMaxSize = 16 * 1024;
/// Of a text in it; longer ones are cut.
inline constexpr std::size_t kMaxText = 4096;

/// Of samples in a stream.
inline constexpr std::uint64_t kMostSamples = std::uint64_t{1} << 23U;

/// Small for numbers near zero, whatever their sign.
constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63U);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1U) ^ (0 - (value & 1U)));
}

}  // namespace farport::router::sample_record
